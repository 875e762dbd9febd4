"""The generated AWS SDK warns about itself when it is imported, which is not ours to fix."""

import warnings

import pulumi_aws

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    pulumi_aws.ec2.Vpc  # noqa: B018  the module is loaded at the first use of a name in it
