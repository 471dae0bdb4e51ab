import test from 'ava';
import {mkdir, mkdtemp, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';

const aDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), 'plat-transport-'));

const aFile = async (text: string): Promise<string> => {
  const file = join(await aDirectory(), 'settings');
  await writeFile(file, text);
  return file;
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const full = `
apiVersion: v1
kind: Config
current-context: main
contexts:
- name: main
  context: {cluster: home, user: jane, namespace: work}
- name: other
  context: {cluster: away, user: robot}
clusters:
- name: home
  cluster: {server: "https://10.0.0.1:6443/base/", certificate-authority-data: ${base64('CA')}, tls-server-name: api.example}
- name: away
  cluster: {server: "https://[::1]:1", insecure-skip-tls-verify: true, proxy-url: "http://proxy:3128"}
users:
- name: jane
  user: {client-certificate: pki/jane.crt, client-key: /keys/jane.key, as: joe, as-groups: [a, b], as-user-extra: {k: [v]}}
- name: robot
  user: {token: abc, tokenFile: token}
`;

test('a settings file yields the server, the trust and the identity of its current context', async t => {
  const file = await aFile(full);
  const directory = join(file, '..');

  const settings = await loadSettings({file, env: {}});

  t.deepEqual(settings, {
    server: 'https://10.0.0.1:6443/base',
    trust: {ca: {data: 'CA'}, serverName: 'api.example'},
    identity: {
      certificate: {cert: {file: `${directory}/pki/jane.crt`}, key: {file: '/keys/jane.key'}},
      impersonate: {user: 'joe', groups: ['a', 'b'], extra: {k: ['v']}},
    },
    namespace: 'work',
    source: `--platconfig ${file}`,
  });
});

test('settings may be JSON or YAML in flow style, which begin with a brace', async t => {
  const json = {
    clusters: [{name: 'home', cluster: {server: 'https://10.0.0.1'}}],
    'current-context': 'main',
    contexts: [{name: 'main', context: {cluster: 'home'}}],
  };
  const flow = `{clusters: [{name: home, cluster: {server: 'https://10.0.0.1'}}], # comment
  current-context: main, contexts: [{name: main, context: {cluster: home}}]}`;

  t.is((await loadSettings({file: await aFile(flow), env: {}})).server, 'https://10.0.0.1');
  t.is((await loadSettings({file: await aFile(JSON.stringify(json)), env: {}})).server, 'https://10.0.0.1');
});

test('a value that is no string without quotes is refused, and text that only looks like a number is one', async t => {
  const user = (token: string) => aFile(full.replace('token: abc', `token: ${token}`));

  for (const token of ['0123', '0o17', '1_0', 'yes'])
    await t.throwsAsync(loadSettings({file: await user(token), context: 'other', env: {}}), {
      message: /^--platconfig \S+: user "robot" has a token that is a (?:number|boolean), not a string: it needs quotes$/,
    });
  for (const token of ['e1', '.', '0x_', '2001-01-01', '1e500'])
    t.is((await loadSettings({file: await user(token), context: 'other', env: {}})).identity.token, token);
});

test('another context can be chosen and the server overridden', async t => {
  const file = await aFile(full);

  const settings = await loadSettings({file, context: 'other', master: 'https://elsewhere:2', env: {}});

  t.is(settings.server, 'https://elsewhere:2');
  t.is(settings.proxyUrl, 'http://proxy:3128');
  t.true(settings.trust.insecure);
  t.deepEqual(settings.identity, {token: 'abc', tokenFile: join(file, '..', 'token')});
});

test('a server alone needs no file', async t => {
  t.is((await loadSettings({master: 'localhost:8080', env: {}})).server, 'http://localhost:8080');
  await t.throwsAsync(loadSettings({master: 'ftp://x', env: {}}), {message: '--master: "ftp://x" is not the address of a server'});
});

for (const [what, text, message] of [
  ['no context', '{"clusters": []}', 'no current-context is set'],
  ['a missing context', '{"current-context": "x"}', 'context "x" does not exist'],
  ['a missing cluster', '{"current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c"}}]}', 'cluster "c" does not exist'],
  ['no settings at all', '- 1', 'the file holds no connection settings'],
  [
    'half a client certificate',
    `{"current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
      "clusters": [{"name": "c", "cluster": {"server": "https://x"}}], "users": [{"name": "u", "user": {"client-certificate": "a"}}]}`,
    'the user has a client certificate without a key',
  ],
] as const) {
  test(`a file with ${what} is refused in one line that names it`, async t => {
    const file = await aFile(text);

    await t.throwsAsync(loadSettings({file, fileFlag: '--authentication-kubeconfig', env: {}}), {
      message: `--authentication-kubeconfig ${file}: ${message}`,
    });
  });
}

test('a missing or broken file is refused in one line that names it', async t => {
  const broken = await aFile('a: [');

  await t.throwsAsync(loadSettings({file: '/nowhere/x', env: {}}), {message: '--platconfig /nowhere/x: no such file or directory'});
  const error = await t.throwsAsync(loadSettings({file: broken, env: {}}));
  t.true(error!.message.startsWith(`--platconfig ${broken}: `));
  t.false(error!.message.includes('\n'));
});

test('a pod finds its server in either vocabulary, and only a pod does', async t => {
  const root = await aDirectory();
  for (const domain of ['plat.io', 'kubernetes.io']) {
    const directory = join(root, 'var/run/secrets', domain, 'serviceaccount');
    await mkdir(directory, {recursive: true});
    await writeFile(join(directory, 'token'), 'secret');
  }
  await writeFile(join(root, 'var/run/secrets/plat.io/serviceaccount/ca.crt'), 'CA');

  const plat = await loadSettings({root, env: {PLAT_SERVICE_HOST: '10.96.0.1', PLAT_SERVICE_PORT: '443'}});
  const kubernetes = await loadSettings({root, env: {KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443'}});

  t.is(plat.server, 'https://10.96.0.1:443');
  t.deepEqual(plat.trust, {ca: {file: join(root, 'var/run/secrets/plat.io/serviceaccount/ca.crt')}});
  t.is(kubernetes.server, 'https://[fd00::1]:443');
  t.deepEqual(kubernetes.trust, {});
  await t.throwsAsync(loadSettings({root, env: {}}), {
    message:
      'neither --platconfig nor --master was given, and this is not a pod of a cluster: give --platconfig=FILE, a kubeconfig as kubectl reads it',
  });
});
