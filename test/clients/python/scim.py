"""Runs an independent set of checks of a SCIM server, and prints what did not succeed, as one line of JSON.

Address and management token come from the environment.
"""

import json
import os

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

http = httpx2.Client(
    base_url=os.environ["SCIM_BASE_URL"],
    headers={"authorization": f"Bearer {os.environ['SCIM_TOKEN']}"},
    timeout=60,
)
results = check_server(SyncSCIMClient(http))
print(
    json.dumps(
        {
            "succeeded": sum(result.status is Status.SUCCESS for result in results),
            "others": [
                {
                    "status": result.status.name,
                    "title": result.title,
                    "reason": str(result.reason),
                    "resource": str(result.resource_type),
                }
                for result in results
                if result.status is not Status.SUCCESS
            ],
        }
    )
)
