import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aPlane} from '#test/controllers/plane.js';

const token = 'abcdef.0123456789abcdef';

/** A server with a secret for `token`, and what a review says of a token. */
const aServer = async (data: Readonly<Record<string, string>> = {}, type = 'bootstrap.plat.io/token', enabled = true) => {
  const plane = await aPlane({controllers: [], apiserverArgs: [`--enable-bootstrap-token-auth=${enabled}`]});
  const client = plane.client();
  const stringData = {
    'token-id': 'abcdef',
    'token-secret': '0123456789abcdef',
    'usage-bootstrap-authentication': 'true',
    ...data,
  };
  const metadata = {name: 'bootstrap-token-abcdef', namespace: 'plat-system'};
  await client.resource(kinds.secrets).create({metadata, type, stringData});
  return {
    plane,
    client,
    review: async (text = token) => (await client.resource(kinds.tokenReviews).create({spec: {token: text}})).status!,
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  };
};

test('a bootstrap token authenticates with its groups, sorted', async t => {
  await using server = await aServer({'auth-extra-groups': 'system:bootstrappers:z, system:bootstrappers:a'});

  t.like(await server.review(), {
    authenticated: true,
    user: {
      username: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers', 'system:bootstrappers:a', 'system:bootstrappers:z', 'system:authenticated'],
    },
  });
});

for (const [what, data, type] of [
  ['whose usage is not authentication', {'usage-bootstrap-authentication': 'yes'}],
  ['of another id', {'token-id': 'abcdeg'}],
  ['of another secret', {'token-secret': '0123456789abcdeg'}],
  ['that has expired', {expiration: '2025-01-01T00:00:00Z'}],
  ['whose expiry is no time', {expiration: 'soon'}],
  ['with a group outside of its prefix', {'auth-extra-groups': 'system:bootstrappers:a,system:masters'}],
  ['in a secret of another type', {}, 'Opaque'],
] as const) {
  test(`a bootstrap token ${what} is not accepted`, async t => {
    await using server = await aServer(data, type);

    t.falsy((await server.review()).authenticated);
  });
}

test('a bootstrap token expires', async t => {
  await using server = await aServer({expiration: '2026-01-01T01:00:00Z'});
  t.true((await server.review()).authenticated);
  await server.plane.clock.advance(3_600_000);

  t.falsy((await server.review()).authenticated);
});

test('a bootstrap token is not accepted without its secret, with another form, and if the flag is off', async t => {
  await using server = await aServer();
  await using without = await aServer({}, undefined, false);

  t.falsy((await server.review('abcdef.0123456789abcde')).authenticated);
  t.falsy((await server.review('abcdeg.0123456789abcdef')).authenticated);
  t.falsy((await without.review()).authenticated);
  await server.client.resource(kinds.secrets).delete('bootstrap-token-abcdef', {namespace: 'plat-system'});
  t.falsy((await server.review()).authenticated);
});
