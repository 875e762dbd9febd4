"""The network of a new cluster: private nodes, one way out, short ways to S3 and ECR."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws

from berth.planner.plan import NetworkPlan
from components import naming

EVERYWHERE = "0.0.0.0/0"


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkArgs:
    """Plain values come from the plan."""

    plan: NetworkPlan
    region: str
    stack: str


class Network(pulumi.ComponentResource):
    """A VPC with a public and a private subnet per zone, NAT gateways and VPC endpoints.

    Nodes live in the private subnets. Images and weights that are in S3 or ECR bypass the NAT
    gateway, which is paid by the gigabyte.
    """

    vpc_id: pulumi.Output[str]
    private_subnet_ids: Mapping[str, pulumi.Output[str]]
    """By availability zone."""

    def __init__(
        self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("berth:index:Network", name, None, opts)
        self._prefix = name
        self._args = args
        self._child = pulumi.ResourceOptions(parent=self)
        zones = args.plan.zones

        self._vpc = aws.ec2.Vpc(
            name,
            cidr_block=args.plan.cidr,
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags=naming.name_tag(args.stack),
            opts=self._child,
        )
        public = {zone: self._subnet("public", zone) for zone in zones}
        private = {zone: self._subnet("private", zone) for zone in zones}
        self._route_public(public)
        nat_gateways = {
            zone: self._nat_gateway(zone, public[zone]) for zone in zones[: args.plan.nat_gateways]
        }
        private_tables = {
            zone: self._route_private(zone, private[zone], nat_gateways) for zone in zones
        }
        self._gateway_endpoint(private_tables)
        self._interface_endpoints(private)

        self.vpc_id = self._vpc.id
        self.private_subnet_ids = {zone: subnet.id for zone, subnet in private.items()}
        self.register_outputs(
            {"vpc_id": self.vpc_id, "private_subnet_ids": dict(self.private_subnet_ids)}
        )

    def _subnet(self, kind: str, zone: str) -> aws.ec2.Subnet:
        """The role tags are how the AWS load balancer controller finds its subnets."""
        cidrs = subnet_cidrs(self._args.plan.cidr, zone)
        role = "elb" if kind == "public" else "internal-elb"
        return aws.ec2.Subnet(
            naming.resource_name(self._prefix, kind, zone),
            vpc_id=self._vpc.id,
            availability_zone=zone,
            cidr_block=cidrs.public if kind == "public" else cidrs.private,
            tags={
                **naming.name_tag(self._args.stack, kind, zone),
                f"kubernetes.io/role/{role}": "1",
            },
            opts=self._child,
        )

    def _route_public(self, subnets: Mapping[str, aws.ec2.Subnet]) -> None:
        gateway = aws.ec2.InternetGateway(
            self._prefix,
            vpc_id=self._vpc.id,
            tags=naming.name_tag(self._args.stack),
            opts=self._child,
        )
        name = naming.resource_name(self._prefix, "public")
        table = self._route_table(name, "public")
        aws.ec2.Route(
            name,
            route_table_id=table.id,
            destination_cidr_block=EVERYWHERE,
            gateway_id=gateway.id,
            opts=self._child,
        )
        for zone, subnet in subnets.items():
            self._associate(naming.resource_name(name, zone), table, subnet)

    def _nat_gateway(self, zone: str, subnet: aws.ec2.Subnet) -> aws.ec2.NatGateway:
        name = naming.resource_name(self._prefix, "nat", zone)
        tags = naming.name_tag(self._args.stack, "nat", zone)
        address = aws.ec2.Eip(name, domain="vpc", tags=tags, opts=self._child)
        return aws.ec2.NatGateway(
            name, allocation_id=address.id, subnet_id=subnet.id, tags=tags, opts=self._child
        )

    def _route_private(
        self, zone: str, subnet: aws.ec2.Subnet, nat_gateways: Mapping[str, aws.ec2.NatGateway]
    ) -> aws.ec2.RouteTable:
        """Out through the zone's own NAT gateway, or the first one where the zone has none."""
        name = naming.resource_name(self._prefix, "private", zone)
        table = self._route_table(name, "private", zone)
        nat_gateway = nat_gateways.get(zone) or next(iter(nat_gateways.values()))
        aws.ec2.Route(
            name,
            route_table_id=table.id,
            destination_cidr_block=EVERYWHERE,
            nat_gateway_id=nat_gateway.id,
            opts=self._child,
        )
        self._associate(name, table, subnet)
        return table

    def _route_table(self, name: str, *label: str) -> aws.ec2.RouteTable:
        return aws.ec2.RouteTable(
            name,
            vpc_id=self._vpc.id,
            tags=naming.name_tag(self._args.stack, *label),
            opts=self._child,
        )

    def _associate(self, name: str, table: aws.ec2.RouteTable, subnet: aws.ec2.Subnet) -> None:
        aws.ec2.RouteTableAssociation(
            name, route_table_id=table.id, subnet_id=subnet.id, opts=self._child
        )

    def _gateway_endpoint(self, tables: Mapping[str, aws.ec2.RouteTable]) -> None:
        aws.ec2.VpcEndpoint(
            naming.resource_name(self._prefix, "s3"),
            vpc_id=self._vpc.id,
            vpc_endpoint_type="Gateway",
            service_name=self._service("s3"),
            route_table_ids=[table.id for table in tables.values()],
            tags=naming.name_tag(self._args.stack, "s3"),
            opts=self._child,
        )

    def _interface_endpoints(self, subnets: Mapping[str, aws.ec2.Subnet]) -> None:
        services = self._args.plan.interface_endpoints
        if not services:
            return
        group = self._endpoint_security_group()
        for service in services:
            label = service.replace(".", "-")
            aws.ec2.VpcEndpoint(
                naming.resource_name(self._prefix, label),
                vpc_id=self._vpc.id,
                vpc_endpoint_type="Interface",
                service_name=self._service(service),
                private_dns_enabled=True,
                subnet_ids=[subnet.id for subnet in subnets.values()],
                security_group_ids=[group.id],
                tags=naming.name_tag(self._args.stack, label),
                opts=self._child,
            )

    def _endpoint_security_group(self) -> aws.ec2.SecurityGroup:
        name = naming.resource_name(self._prefix, "endpoints")
        group = aws.ec2.SecurityGroup(
            name,
            vpc_id=self._vpc.id,
            description="HTTPS from the network to its VPC endpoints",
            tags=naming.name_tag(self._args.stack, "endpoints"),
            opts=self._child,
        )
        aws.vpc.SecurityGroupIngressRule(
            name,
            security_group_id=group.id,
            ip_protocol="tcp",
            from_port=443,
            to_port=443,
            cidr_ipv4=self._args.plan.cidr,
            opts=self._child,
        )
        return group

    def _service(self, service: str) -> str:
        return f"com.amazonaws.{self._args.region}.{service}"


@dataclass(frozen=True, slots=True)
class SubnetCidrs:
    """The address ranges of one zone."""

    public: str
    private: str


def subnet_cidrs(network_cidr: str, zone: str) -> SubnetCidrs:
    """The ranges of a zone, by the letter it ends in, so that no other zone ever moves them.

    The network is cut into sixteen blocks. Zones a to l have one of the first twelve each for
    their private subnet (4,096 addresses of a /16, since pods take addresses of the network);
    the thirteenth is cut into sixteen public subnets; three stay free.
    """
    position = ord(zone[-1]) - ord("a")
    blocks = list(IPv4Network(network_cidr).subnets(prefixlen_diff=4))
    public = list(blocks[12].subnets(prefixlen_diff=4))
    return SubnetCidrs(public=str(public[position]), private=str(blocks[:12][position]))
