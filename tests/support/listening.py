"""How a server of tests stops listening without losing sight of a connection."""

import asyncio


async def stop_accepting(server: asyncio.Server) -> None:
    """Close a server's listening sockets; every connection accepted so far has its protocol.

    A server that is closed between accepting a connection and making its transport leaves the
    socket open until it is collected, which then is an error of whatever test runs.
    """
    loop = asyncio.get_running_loop()
    for each in server.sockets:
        loop.remove_reader(each.fileno())
    # What was accepted before is a task by now, which makes the transport in its first step.
    await asyncio.sleep(0)
    server.close()
