import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {NamingName} from '#src/api/naming.js';
import {wireTime} from '#src/api/time.js';
import {tokenTable} from '#src/cli/token/list.js';
import {discover} from '#src/cli/token/discover.js';
import {createToken} from '#src/cli/token/create.js';
import {runToken} from '#src/cli/token/token.js';
import {tokenFlags} from '#src/options/programs/client.js';
import {systemClock} from '#src/base/clock.js';
import {ensureJoining} from '#src/controlplane/joining.js';
import {startPlane} from '#src/plane/plane.js';
import {aBootstrapToken} from '#test/controllers/bootstrap-tokens.js';
import {aServerHere, commandHere} from './here.js';
import {run} from './programs.js';

const tokenHere = commandHere(tokenFlags, runToken);
const given = 'abcdef.0123456789abcdef';

for (const naming of ['plat', 'kubernetes'] satisfies NamingName[]) {
  test(`plat token creates, lists and deletes tokens in the ${naming} naming`, async t => {
    await using server = await aServerHere(naming);
    const words = server.client.naming;
    const secrets = server.client.resource(kinds.secrets);
    const token = (...args: string[]) => tokenHere(...args, `--platconfig=${server.settings}`);
    t.deepEqual(await run('plat', ['token', 'list'], {KUBECONFIG: server.settings}), {code: 0, stdout: '', stderr: ''});

    t.deepEqual(await token('create', given, '--ttl=0', '--description=for the test'), {code: 0, stdout: `${given}\n`, stderr: ''});
    const stored = await secrets.get('bootstrap-token-abcdef', {namespace: words.systemNamespace});
    const group = `system:bootstrappers:${words.prefix}adm:default-node-token`;
    t.deepEqual(Object.fromEntries(Object.entries(stored.data!).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()])), {
      'token-id': 'abcdef',
      'token-secret': '0123456789abcdef',
      description: 'for the test',
      'usage-bootstrap-signing': 'true',
      'usage-bootstrap-authentication': 'true',
      'auth-extra-groups': group,
    });
    t.is(stored.type, `bootstrap.${words.domain}/token`);
    t.is((await token('create', given)).stderr, 'plat token: a token with id "abcdef" already exists\n');

    const random = (await token('create', '--usages=signing', '--ttl=90m')).stdout.trim();
    t.regex(random, /^[a-z0-9]{6}\.[a-z0-9]{16}$/);
    const {stdout} = await token('list');
    t.regex(stdout, /^TOKEN +TTL +EXPIRES +USAGES +DESCRIPTION +EXTRA GROUPS\n/);
    t.true(stdout.includes(`${given}   <forever>   <never>                authentication,signing   for the test   ${group}\n`));
    t.regex(stdout, new RegExp(`${random.replace('.', '\\.')} +1h +20[0-9TZ:-]+ +signing +<none> +<none>\n`));
    t.deepEqual((JSON.parse((await token('list', '-o=json')).stdout.split('\n}\n')[0]! + '}') as {kind: string}).kind, 'BootstrapToken');
    t.regex((await token('list', '--output=yaml')).stdout, /^token: abcdef\.0123456789abcdef$/m);

    await secrets.create(aBootstrapToken(words, 'broken', {'token-secret': undefined}));
    t.is(
      (await token('list')).stderr,
      'plat token: the secret "bootstrap-token-broken" is not a bootstrap token: it has no token-secret\n',
    );
    t.deepEqual(await token('delete', 'abcdef', random, 'zzzzzz'), {
      code: 1,
      stdout: `bootstrap token "abcdef" deleted\nbootstrap token "${random.slice(0, 6)}" deleted\n`,
      stderr: 'plat token: failed to delete bootstrap token "zzzzzz": secrets "bootstrap-token-zzzzzz" not found\n',
    });
  });
}

const mistakes: readonly (readonly [args: readonly string[], line: RegExp])[] = [
  [[], /^plat token: the first argument must be create, list, delete, generate or discover\n$/],
  [['lend'], /^plat token: the first argument must be .*, not "lend"\n$/],
  [['create', 'a', 'b'], /^plat token: unexpected argument "b"\n$/],
  [['delete'], /^plat token: one or more tokens, or their ids, must be named\n$/],
  [['delete', 'ABCDEF'], /^plat token: "ABCDEF" is neither a token id, .*, nor a token, .*\n$/],
  [['list', '--output=xml'], /^plat token: .*--output.*\n$/],
  [['discover'], /^plat token: the server must be named, as host:port\n$/],
  [['discover', 'localhost:1'], /^plat token: --token is required\n$/],
  [['discover', 'localhost:1', `--token=${given}`], /^plat token: --discovery-token-ca-cert-hash is required, or .*\n$/],
  [
    ['discover', 'localhost:1', `--token=${given}`, '--discovery-token-ca-cert-hash=md5:1'],
    /^plat token: --discovery-token-ca-cert-hash: "md5:1" is not of the form sha256:HEX with 64 digits\n$/,
  ],
];
for (const [args, line] of mistakes) {
  test(`plat token ${args.join(' ')} is refused in one line`, async t => {
    const {code, stdout, stderr} = await (args.length === 0 ? run('plat', ['token']) : tokenHere(...args));

    t.deepEqual([code, stdout], [1, '']);
    t.regex(stderr, line);
  });
}

const invalid: readonly (readonly [what: string, text: string, change: object, message: RegExp])[] = [
  ['is too short', 'abc.def', {}, /not of the form/],
  ['has capital letters', 'ABCDEF.0123456789abcdef', {}, /not of the form/],
  ['has an unknown usage', given, {usages: ['signing', 'baking']}, /--usages: .*"baking": valid usages are signing, authentication/],
  ['has no usage', given, {usages: []}, /--usages: /],
  [
    'has a group outside of the bootstrappers',
    given,
    {groups: ['system:masters']},
    /--groups: bootstrap group "system:masters" is invalid/,
  ],
  ['has a group without authentication', given, {usages: ['signing'], groups: ['system:bootstrappers:a']}, /--groups: /],
  ['has a negative duration', given, {ttlMs: -1}, /--ttl: /],
];
const usual = {ttlMs: 0, usages: ['signing', 'authentication'], groups: [], description: ''};

test('discovery verifies the signature of the token, and the CA', async t => {
  await using plane = await startPlane({bootstrapTokens: true, naming: 'plat'});
  const client = plane.client();
  for (const [what, text, change, message] of invalid)
    await t.throwsAsync(createToken(client, text, {...usual, ...change}, Date.now()), {message}, `a token that ${what}`);
  await createToken(client, given, usual, Date.now());
  const signal = new AbortController().signal;
  const options = {
    server: plane.url,
    token: given,
    hashes: [],
    naming: 'auto',
    timeoutMs: 20_000,
    userAgent: 'test',
    clock: systemClock,
    signal,
  } as const;
  const {server, ca} = await discover(options);
  t.is(server, plane.url);
  t.true(plane.kubeconfig.includes(Buffer.from(ca).toString('base64')));

  await t.throwsAsync(discover({...options, token: 'abcdef.ffffffffffffffff'}), {
    message: /is not by this token: the server cannot be trusted/,
  });
  await t.throwsAsync(discover({...options, hashes: [`sha256:${'0'.repeat(64)}`]}), {
    message: /has the hash sha256:[0-9a-f]{64}, which is none/,
  });
  await t.throwsAsync(discover({...options, token: 'ffffff.ffffffffffffffff', timeoutMs: 0}), {message: /token id "ffffff" is invalid/});

  const configMaps = client.resource(kinds.configMaps);
  const address = {namespace: plane.naming.publicNamespace};
  const stored = await configMaps.get('cluster-info', address);
  await ensureJoining(client, {server, ca});
  t.is((await configMaps.get('cluster-info', address)).metadata?.resourceVersion, stored.metadata?.resourceVersion);
  await ensureJoining(client, {server: 'https://moved.example.com', ca});
  const {data = {}} = await configMaps.get('cluster-info', address);
  t.regex(data['platconfig']!, /server: https:\/\/moved\.example\.com/);
});

test('the time that a token has left is shown in its largest unit', t => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const ttlOf = (seconds: number) => tokenTable([{token: given, expires: wireTime(now + seconds * 1000)}], now)[1]!.split(/ +/)[1];

  t.deepEqual([-2, -1, 0, 59, 60, 3599, 3600, 86_399, 86_400, 31_535_999, 31_536_000].map(ttlOf), [
    '<invalid>',
    '0s',
    '0s',
    '59s',
    '1m',
    '59m',
    '1h',
    '23h',
    '1d',
    '364d',
    '1y',
  ]);
});
