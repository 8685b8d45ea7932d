"""A program that uses `gql`: over HTTP (aiohttp), and over graphql-transport-ws with both of its WebSocket transports.

It reads TIDINGS_URL, TIDINGS_SCHEMA (the path of the SDL), TIDINGS_SERVICE and TIDINGS_USER (tokens of a service and of
the user `ada`) from the environment.
"""

import asyncio
import os
from pathlib import Path

from gql import Client, GraphQLRequest, gql
from gql.transport.aiohttp import AIOHTTPTransport
from gql.transport.aiohttp_websockets import AIOHTTPWebsocketsTransport
from gql.transport.exceptions import TransportQueryError
from gql.transport.websockets import WebsocketsTransport

URL = os.environ["TIDINGS_URL"]
SCHEMA = Path(os.environ["TIDINGS_SCHEMA"]).read_text()
SERVICE = os.environ["TIDINGS_SERVICE"]
USER = os.environ["TIDINGS_USER"]

# The time limit of every wait, in seconds.
PATIENCE = 15

OVERVIEW = gql("query Overview($cap: Int) { viewer { user { id } overview(cap: $cap) { cursor unread { count exact } } } }")
SEND = gql("mutation Send($input: SendMessageInput!) { sendMessage(input: $input) { notification { id } replayed } }")
MARK = gql(
    """
    mutation Mark($select: InboxItemSelector!) {
      markRead(select: $select) { changedCount items { id isRead } viewer { overview { unread { count } } } }
    }
    """
)
ITEMS = gql("subscription Items($after: String) { itemReceived(after: $after) { cursor node { id title kind } } }")
OVERVIEWS = gql("subscription { overviewChanged { id overview(cap: 99) { unread { count } } } }")


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def over_http(token):
    return Client(transport=AIOHTTPTransport(url=URL, headers=bearer(token)), schema=SCHEMA)


def over_sockets(transport):
    """A client that authenticates when it connects, and sends pings."""
    address = URL.replace("http", "ws", 1)
    pings = {"ping_interval": 0.2, "pong_timeout": PATIENCE}
    return Client(transport=transport(url=address, init_payload=bearer(USER), **pings), schema=SCHEMA)


def execute(session, query, **variables):
    return session.execute(GraphQLRequest(query, variable_values=variables))


def subscribe(session, query, **variables):
    return session.subscribe(GraphQLRequest(query, variable_values=variables))


async def send(title):
    async with over_http(SERVICE) as service:
        message = {"type": "news", "receiver": "ada", "content": {"title": title}}
        sent = await execute(service, SEND, input=message)
    assert sent["sendMessage"]["replayed"] is False


async def unread(session):
    viewer = (await execute(session, OVERVIEW, cap=99))["viewer"]
    assert viewer["user"] == {"id": "ada"}
    return viewer["overview"]


async def refusal(session, query, **variables):
    try:
        await execute(session, query, **variables)
    except TransportQueryError as error:
        return error.errors[0]
    raise AssertionError("it was not refused")


async def queries_and_mutations(session):
    """Sends a message, reads it, marks it, and sends one invalid request."""
    await send("Hello")
    assert (await unread(session))["unread"] == {"count": 1, "exact": True}
    everything = (await execute(session, MARK, select={"matching": {}}))["markRead"]
    assert everything["changedCount"] == 1, everything
    assert everything["viewer"]["overview"]["unread"]["count"] == 0, everything
    error = await refusal(session, OVERVIEW, cap=0)
    assert error["extensions"]["code"] == "BAD_USER_INPUT", error
    assert error["message"] == "`cap` must be at least 1", error


async def subscriptions(session):
    """Receives three messages, one of them sent before subscribing, and overviews."""
    after = (await unread(session))["cursor"]
    await send("before")
    titles, ids = [], []
    async for result in subscribe(session, ITEMS, after=after):
        node = result["itemReceived"]["node"]
        assert node["kind"] == "MESSAGE"
        titles.append(node["title"])
        ids.append(node["id"])
        if len(titles) == 3:
            break
        await send(f"during {len(titles)}")
    assert titles == ["before", "during 1", "during 2"], titles

    marked = (await execute(session, MARK, select={"ids": ids[:2]}))["markRead"]
    assert [item["isRead"] for item in marked["items"]] == [True, True], marked
    counts = []
    async for result in subscribe(session, OVERVIEWS):
        counts.append(result["overviewChanged"]["overview"]["unread"]["count"])
        if len(counts) == 2:
            break
        await execute(session, MARK, select={"matching": {}})
    assert counts == [1, 0], counts


async def introspection():
    """The server's introspection matches the file's schema."""
    async with Client(transport=AIOHTTPTransport(url=URL, headers=bearer(USER)), fetch_schema_from_transport=True) as told:
        assert "InboxItem" in told.client.schema.type_map


async def main():
    done = []
    async with over_http(USER) as session:
        await queries_and_mutations(session)
        await introspection()
        done.append("aiohttp")
    for transport in [WebsocketsTransport, AIOHTTPWebsocketsTransport]:
        async with over_sockets(transport) as session:
            await queries_and_mutations(session)
            await subscriptions(session)
            # The server answers a ping, and the session continues.
            await asyncio.wait_for(session.transport.pong_received.wait(), PATIENCE)
            assert (await unread(session))["unread"]["count"] == 0
            done.append(transport.__name__)
    print(f"gql: {', '.join(done)} pass")


asyncio.run(asyncio.wait_for(main(), 3 * PATIENCE))
