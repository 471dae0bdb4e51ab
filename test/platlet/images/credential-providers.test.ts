import {chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {AccountTokens, type ServiceAccounts} from '#src/platlet/credential-providers/account-tokens.js';
import {providersIn} from '#src/platlet/credential-providers/configuration.js';
import {loadProviders} from '#src/platlet/credential-providers/load.js';
import {Provider} from '#src/platlet/credential-providers/provider.js';
import {PullCredentials} from '#src/platlet/images/pull-credentials.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {memoryObjects} from '#test/platlet/inputs/objects.js';
import {aPod} from '#test/platlet/pod/objects.js';

const plat = naming('plat');
const requests = 'credentialprovider.platlet.plat.io/v1';

const configuration = (fields: object = {}): string =>
  JSON.stringify({
    apiVersion: 'platlet.config.plat.io/v1',
    kind: 'CredentialProviderConfig',
    providers: [{name: 'test', matchImages: ['*.example.com/team'], defaultCacheDuration: '1h', apiVersion: requests, ...fields}],
  });

/** A folder with a program `test`, a shell script that counts its calls and keeps its input. */
class Installation implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'plat-providers-'));
  readonly programs = join(this.folder, 'bin');
  readonly configuration = join(this.folder, 'config.json');
  readonly clock = new VirtualClock();

  constructor(script: string) {
    mkdirSync(this.programs);
    const program = join(this.programs, 'test');
    writeFileSync(program, `#!/bin/sh\ncd ${this.folder}\necho called >> calls\ncat > input\n${script}\n`);
    chmodSync(program, 0o755);
    writeFileSync(this.configuration, configuration());
  }

  /** How often the program was called. */
  get calls(): number {
    const path = join(this.folder, 'calls');
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').length : 0;
  }

  get input(): unknown {
    return JSON.parse(readFileSync(join(this.folder, 'input'), 'utf8'));
  }

  async provider(fields: object = {}, accounts?: ServiceAccounts): Promise<Provider> {
    writeFileSync(this.configuration, configuration(fields));
    const {programs, configuration: path, clock} = this;
    const {providers} = await loadProviders({programs, configuration: path, namings: [plat], acceptsTokens: true});
    const [{provider, path: program}] = providers as [(typeof providers)[0]];
    return new Provider({
      provider,
      path: program,
      accounts: accounts && new AccountTokens(provider.tokenAttributes!, accounts, noLog),
      clock,
      log: noLog,
      metrics: agentMetrics(noMeter, plat),
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, {recursive: true});
  }
}

const response = (fields: object): string =>
  `echo '${JSON.stringify({kind: 'CredentialProviderResponse', apiVersion: requests, cacheKeyType: 'Registry', ...fields})}'`;
const login = {'reg.example.com': {username: 'user', password: 'secret'}};
const usersOf = async (provider: Provider, image: string): Promise<string> =>
  (await provider.entries(aPod(), image)).map(({credentials: {username}, registry}) => `${username}@${registry}`).join(' ');

test('a provider is asked by its program, and what it gives counts for the cache key that it names', async t => {
  using installation = new Installation(response({auth: login, cacheDuration: '10m0s'}));
  const {clock} = installation;
  const provider = await installation.provider();
  t.is(await usersOf(provider, 'reg.example.com/team/app'), 'user@reg.example.com');
  t.deepEqual(installation.input, {kind: 'CredentialProviderRequest', apiVersion: requests, image: 'reg.example.com/team/app'});
  await usersOf(provider, 'reg.example.com/team/other');
  t.is(installation.calls, 1);
  await usersOf(provider, 'two.example.com/team/other');
  t.is(installation.calls, 2);
  await clock.advance(600_001);
  await usersOf(provider, 'reg.example.com/team/app');
  t.is(installation.calls, 3);
});

test('a provider is not asked for images that it does not match', async t => {
  using installation = new Installation(response({auth: login}));
  const provider = await installation.provider();
  for (const image of ['example.com/team/app', 'reg.example.com/other/app', 'a.reg.example.com/team/app'])
    t.is(await usersOf(provider, image), '', image);
  t.is(installation.calls, 0);
});

test('equal requests at the same time share a call, and without a cache duration the default counts', async t => {
  using installation = new Installation(response({auth: login, cacheKeyType: 'Image'}));
  const provider = await installation.provider({defaultCacheDuration: '0s'});
  const image = 'reg.example.com/team/app';
  await Promise.all([usersOf(provider, image), usersOf(provider, image)]);
  t.is(installation.calls, 1);
  await usersOf(provider, image);
  t.is(installation.calls, 2);
});

for (const [what, script] of [
  ['fails', 'exit 3'],
  ['prints no JSON', 'echo nothing'],
  ['answers in another version', response({auth: login, apiVersion: `${requests}alpha1`})],
  ['answers in another kind', response({auth: login, kind: 'Secret'})],
  ['names no cache key', response({auth: login, cacheKeyType: 'Pod'})],
  ['has credentials of a wrong type', response({auth: {'reg.example.com': {username: 5}}})],
] as const)
  test(`a provider that ${what} gives no credentials`, async t => {
    using installation = new Installation(script);
    const provider = await installation.provider();
    t.is(await usersOf(provider, 'reg.example.com/team/app'), '');
    await usersOf(provider, 'reg.example.com/team/app');
    t.is(installation.calls, 2);
  });

const tokenAttributes = {
  serviceAccountTokenAudience: 'registry',
  cacheType: 'ServiceAccount',
  requireServiceAccount: true,
  requiredServiceAccountAnnotationKeys: ['example.com/role'],
  optionalServiceAccountAnnotationKeys: ['example.com/region', 'example.com/zone'],
};

const accounts = (annotations: Readonly<Record<string, string>>): ServiceAccounts => ({
  get: async (namespace, name) => ({metadata: {namespace, name, uid: 'account', annotations}}),
  token: async (_pod, audience) => `token for ${audience}`,
});

test('a provider gets the token and the annotations of the service account that it asks for', async t => {
  using installation = new Installation(response({auth: login}));
  const given = {'example.com/role': 'puller', 'example.com/zone': 'z', other: 'x'};
  const provider = await installation.provider({tokenAttributes}, accounts(given));
  const [entry] = await provider.entries(aPod({serviceAccountName: 'app'}), 'reg.example.com/team/app');
  t.deepEqual(entry?.serviceAccount, {uid: 'account', namespace: 'default', name: 'app'});
  t.deepEqual(installation.input, {
    kind: 'CredentialProviderRequest',
    apiVersion: requests,
    image: 'reg.example.com/team/app',
    serviceAccountToken: 'token for registry',
    serviceAccountAnnotations: {'example.com/role': 'puller', 'example.com/zone': 'z'},
  });
});

test('a provider is not asked without the account or the annotation that it requires', async t => {
  using installation = new Installation(response({auth: login}));
  const provider = await installation.provider({tokenAttributes}, accounts({}));
  t.deepEqual(await provider.entries(aPod({serviceAccountName: 'app'}), 'reg.example.com/team/app'), []);
  t.deepEqual(await provider.entries(aPod(), 'reg.example.com/team/app'), []);
  t.is(installation.calls, 0);
});

test('a token is no password, unless the cache goes by tokens', async t => {
  using installation = new Installation(response({auth: {'reg.example.com': {username: 'u', password: 'token for registry'}}}));
  const given = accounts({'example.com/role': 'puller'});
  const pod = aPod({serviceAccountName: 'app'});
  const refused = await installation.provider({tokenAttributes}, given);
  t.deepEqual(await refused.entries(pod, 'reg.example.com/team/app'), []);
  const allowed = await installation.provider({tokenAttributes: {...tokenAttributes, cacheType: 'Token'}}, given);
  t.is((await allowed.entries(pod, 'reg.example.com/team/app')).length, 1);
});

test('credentials of secrets are tried before those of providers', async t => {
  using installation = new Installation(response({auth: login}));
  const provider = await installation.provider();
  const objects = memoryObjects();
  const auths = {auths: {'reg.example.com': {username: 'own', password: 'p'}}};
  objects.secrets.set('default/pull', {
    type: 'plat.io/dockerconfigjson',
    data: {'.dockerconfigjson': Buffer.from(JSON.stringify(auths)).toString('base64')},
  });
  const provided = (pod: Parameters<Provider['entries']>[0], image: string) => provider.entries(pod, image);
  const credentials = new PullCredentials({naming: plat, objects, log: noLog, provided});
  const found = await credentials.of(aPod({imagePullSecrets: [{name: 'pull'}]}), 'reg.example.com/team/app:1');
  t.deepEqual(
    found.map(({credentials: {username}}) => username),
    ['own', 'user'],
  );
});

const problemOf = (text: string, acceptsTokens = true): string => {
  try {
    providersIn([{path: '/c', content: Buffer.from(text)}], [plat], acceptsTokens);
    return '';
  } catch (error) {
    return (error as Error).message.replace('failed to validate credential provider config: ', '');
  }
};

for (const [what, fields, message] of [
  ['a name that is a path', {name: 'a/b'}, `providers.name: Invalid value: "a/b": provider name cannot contain '/'`],
  ['a name with spaces', {name: 'a b'}, `providers.name: Invalid value: "a b": provider name cannot contain spaces`],
  ['a name that is a folder', {name: '..'}, `providers.name: Invalid value: "..": provider name cannot be '..'`],
  ['no version', {apiVersion: ''}, 'providers.apiVersion: Required value'],
  [
    'an unknown version',
    {apiVersion: 'v1'},
    `providers.apiVersion: Unsupported value: "v1": supported values: "${requests}", "${requests}alpha1", "${requests}beta1"`,
  ],
  ['no images', {matchImages: []}, 'providers.matchImages: Required value: at least 1 item in matchImages is required'],
  ['no cache duration', {defaultCacheDuration: undefined}, 'providers.defaultCacheDuration: Required value'],
  [
    'a negative cache duration',
    {defaultCacheDuration: '-1m'},
    'providers.defaultCacheDuration: Invalid value: "-1m0s": must be greater than or equal to 0',
  ],
  [
    'no audience and no cache type',
    {tokenAttributes: {requireServiceAccount: true}},
    '[providers.tokenAttributes.serviceAccountTokenAudience: Required value, providers.tokenAttributes.cacheType: Required value: cacheType is required to be set when tokenAttributes is specified. Supported values are: ServiceAccount, Token]',
  ],
  [
    'a key that is required and optional',
    {tokenAttributes: {...tokenAttributes, optionalServiceAccountAnnotationKeys: ['example.com/role']}},
    'providers.tokenAttributes: Invalid value: ["example.com/role"]: annotation keys cannot be both required and optional',
  ],
  [
    'required annotations of an account that is not required',
    {tokenAttributes: {...tokenAttributes, requireServiceAccount: false}},
    'providers.tokenAttributes.requiredServiceAccountAnnotationKeys: Forbidden: requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set',
  ],
  ['an unknown field', {image: 'x'}, 'error decoding config "/c": strict decoding error: unknown field "providers[0].image"'],
] as const)
  test(`a configuration with ${what} is refused`, t => t.is(problemOf(configuration(fields)), message));

test('tokens are refused without their gate, and the files of another kind or without providers', t => {
  t.is(
    problemOf(configuration({tokenAttributes}), false),
    'providers.tokenAttributes: Forbidden: tokenAttributes is not supported when PlatletServiceAccountTokenForCredentialProviders feature gate is disabled',
  );
  const other = JSON.stringify({apiVersion: 'v1', kind: 'Secret'});
  t.is(problemOf(other), 'error decoding config "/c": no kind "Secret" is registered for version "v1"');
  const none = JSON.stringify({...JSON.parse(configuration()), providers: []});
  t.is(problemOf(none), 'providers: Required value: at least 1 item in plugins is required');
});

test('a directory of files is read in the order of their names, and programs have to be there', async t => {
  using installation = new Installation('');
  const {folder, programs} = installation;
  const files = join(folder, 'files');
  mkdirSync(files);
  const load = (given: object = {}) =>
    loadProviders({programs, configuration: files, namings: [plat], acceptsTokens: true, ...given}).then(
      ({providers}) => providers.map(({provider}) => provider.matchImages[0]).join(' '),
      (error: Error) => error.message,
    );
  t.is(await load(), `no configuration files found in directory "${files}"`);
  writeFileSync(join(files, 'b.json'), configuration({matchImages: ['b.example.com']}));
  writeFileSync(join(files, 'a.yaml'), configuration({name: 'other', matchImages: ['a.example.com']}));
  writeFileSync(join(files, 'notes.txt'), 'x');
  t.is(await load(), `plugin binary executable ${join(programs, 'other')} did not exist`);
  writeFileSync(join(programs, 'other'), '');
  t.regex(await load(), /^error inspecting binary executable .*: EACCES/);
  chmodSync(join(programs, 'other'), 0o755);
  t.is(await load(), 'a.example.com b.example.com');
  writeFileSync(join(files, 'c.yml'), configuration());
  t.is(await load(), 'duplicate provider name "test" found in configuration file(s)');
  t.is(await load({programs: '/none'}), 'plugin binary directory /none did not exist');
  t.regex(await load({configuration: '/none'}), /^unable to access path "\/none": /);
});
