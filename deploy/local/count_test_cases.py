#!/usr/bin/env python3
"""Counts the test cases of a `bazel test` run from its build events; prints 'N passed, N failed'.

A target that failed without a readable report (a crash, a timeout, a build error) counts as one failed case.
"""
import json
import sys
import xml.etree.ElementTree as ElementTree
from urllib.parse import unquote, urlparse


def cases_of(report):
    """(passed, failed) of one test.xml; None when it holds no cases."""
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (ElementTree.ParseError, OSError):
        return None
    ran = [case for case in cases if case.get("status") != "notrun"]
    failed = sum(1 for case in ran if case.find("failure") is not None or case.find("error") is not None)
    return (len(ran) - failed, failed) if ran else None


def main(events):
    passed = failed = 0
    complaints = []
    with open(events, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            result = event.get("testResult")
            if result is not None:
                label = event["id"]["testResult"]["label"]
                report = next((o["uri"] for o in result.get("testActionOutput", []) if o["name"] == "test.xml"), None)
                cases = cases_of(unquote(urlparse(report).path)) if report else None
                ok = result.get("status") == "PASSED"
                good, bad = cases if cases else (1, 0) if ok else (0, 1)
                if not ok and bad == 0:
                    bad = 1
                if bad:
                    complaints.append(f"{label}: {result.get('status')}, {bad} failed")
                passed += good
                failed += bad
            elif "targetCompleted" in event.get("id", {}) and not event.get("completed", {}).get("success", False):
                if event.get("completed", {}).get("failureDetail", {}).get("message", "").startswith("Test"):
                    continue
                complaints.append(f"{event['id']['targetCompleted']['label']}: did not build")
                failed += 1
    for complaint in complaints:
        print(complaint)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
