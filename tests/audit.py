"""`make audit`: known vulnerabilities of what is installed, as the package index knows them.

pip-audit asks the index for every installed version. One that the index does not answer for is
counted and named as not audited: a mirror may know no vulnerabilities, and there may be no network
at all. With ``--strict`` that is a failure; a vulnerability always is.
"""

import argparse
import json
import subprocess
import sys
import sysconfig

PATIENCE = 240
"""Seconds that the whole audit may take."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("auditor", help="the pip-audit to call, from an environment of its own")
    parser.add_argument("--strict", action="store_true", help="fail if something was not audited")
    args = parser.parse_args()
    command = [args.auditor, "--skip-editable", "--progress-spinner", "off", "--timeout", "5"]
    command += ["--format", "json", "--path", sysconfig.get_path("purelib")]
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=PATIENCE
        )
        packages = json.loads(done.stdout)["dependencies"]
    except (OSError, subprocess.TimeoutExpired, json.JSONDecodeError) as error:
        print(f"not audited: pip-audit gave no answer ({type(error).__name__})")
        return int(args.strict)
    found, skipped = report(packages)
    return int(bool(found) or (args.strict and bool(skipped)))


def report(packages: list[dict]) -> tuple[int, int]:
    """Print what was found; the number of vulnerable packages, and of those not audited."""
    vulnerable = [package for package in packages if package.get("vulns")]
    for package in vulnerable:
        for flaw in package["vulns"]:
            mended = ", ".join(flaw["fix_versions"]) or "no version"
            print(f"{package['name']} {package['version']}: {flaw['id']}, mended in {mended}")
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    asked = len(packages) - len(skipped)
    print(f"{asked} packages audited, {len(vulnerable)} with known vulnerabilities")
    if skipped:
        names = ", ".join(skipped) if asked else f"all {len(skipped)}"
        print(f"not audited, because the index tells nothing of them: {names}")
    return len(vulnerable), len(skipped)


if __name__ == "__main__":
    sys.exit(main())
