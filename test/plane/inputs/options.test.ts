import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {systemFiles, type Files} from '#src/base/files/files.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {followAgentTrust} from '#src/plane/api-server/agent-trust.js';
import {startPlane} from '#src/plane/plane.js';
import {aPlane} from '#test/controllers/plane.js';
import {refusal} from '#test/resources/environment.js';
import {wire} from '#test/apiserver/wire.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';
import {alone} from './option-files.js';

const aFile = (text: string): string => {
  const file = join(mkdtempSync(join(tmpdir(), 'plat-options-')), 'file.yaml');
  writeFileSync(file, text);
  return file;
};

const authority = await anAuthority();
const [pair, another] = [
  await aPair(authority, {commonName: 'one'}, 'client auth'),
  await aPair(authority, {commonName: 'other'}, 'client auth'),
];

const bad: readonly (readonly [object, string])[] = [
  [{nameing: 'plat'}, 'there is no option "nameing": did you mean "naming"?'],
  [{dataDIR: 'x'}, 'there is no option "dataDIR": did you mean "dataDir"?'],
  [{apiServerArgs: []}, 'there is no option "apiServerArgs": did you mean "apiserverArgs"?'],
  [{port: 6443}, 'there is no option "port": the options are naming, dataDir, listen, '],
  [{naming: 'k8s'}, 'naming must be "kubernetes" or "plat", not "k8s"'],
  [{listen: 'no'}, 'listen must be true or false, not "no"'],
  [{securePort: 70_000}, 'securePort must be a port from 0 to 65535, not 70000'],
  [{securePort: '6443'}, 'securePort must be a port from 0 to 65535, not "6443"'],
  [{nodes: -1}, 'nodes must be a whole number from 0 to 10000, not -1'],
  [{nodes: 1.5}, 'nodes must be a whole number from 0 to 10000, not 1.5'],
  [{dataDir: ''}, 'dataDir must be a path, not ""'],
  [{bindAddress: 'localhost'}, 'bindAddress must be an IP address, not "localhost"'],
  [{apiserverArgs: '--v=2'}, 'apiserverArgs must be a list of flags such as "--feature-gates=X=true", not "--v=2"'],
  [{schedulerArgs: ['v=2']}, 'schedulerArgs must be a list of flags such as "--feature-gates=X=true", not ["v=2"]'],
  [{manifests: 'crds'}, 'manifests must be a list of paths or objects, not "crds"'],
  [{webhooks: 9443}, 'webhooks must be {port: N} with a port from 1 to 65535, not 9443'],
  [{clock: () => 0}, 'clock must be a Clock (with now, monotonic, schedule, hold, unhandled, keepAlive), not a function'],
  [{freeze: null}, 'freeze must be true or false, not null'],
  [{listen: false, kubeconfig: 'file'}, 'kubeconfig needs a port: leave listen out, or kubeconfig'],
  [{simulationFile: 'rules.yaml'}, 'simulationFile needs nodes: how many of them to simulate'],
];

for (const [options, message] of bad) {
  test(`a plane does not start with ${Object.keys(options).join(' and ')} like that: ${message}`, async t => {
    const error = await t.throwsAsync(startPlane(options));
    t.true(error!.message.startsWith(`startPlane: ${message}`), error!.message);
  });
}

test('undefined options count as not given, and a configured store is used without a directory', async t => {
  const undefinedOptions = {naming: undefined, dataDir: undefined, nodes: undefined} as object;
  await using plane = await startPlane({...undefinedOptions, listen: false, clock: new VirtualClock(), ...alone});

  t.is(plane.naming.name, 'kubernetes');
  await t.throwsAsync(startPlane({apiserverArgs: ['--storage-backend=etcd3']}), {message: /requires --kvstore-servers/});
  await t.throwsAsync(startPlane('here' as never), {message: 'startPlane: the options must be an object, not "here"'});
});

test('admission plugins read their configuration file', async t => {
  const file = aFile(`
kind: AdmissionConfiguration
apiVersion: apiserver.config.plat.io/v1
plugins:
- name: PodSecurity
  configuration: {kind: PodSecurityConfiguration, apiVersion: pod-security.admission.config.plat.io/v1, defaults: {enforce: baseline}}
`);
  await using plane = await aPlane({...alone, apiserverArgs: [`--admission-control-config-file=${file}`]});
  const pods = plane.client().resource(kinds.pods);
  await plane
    .client()
    .resource(kinds.serviceAccounts)
    .create({metadata: {name: 'default', namespace: 'default'}});

  t.regex(
    (
      await refusal(
        pods.create({metadata: {name: 'p', namespace: 'default'}, spec: {hostPID: true, containers: [{name: 'c', image: 'i'}]}}),
      )
    ).message ?? '',
    /violates PodSecurity "baseline:latest"/,
  );
});

for (const [what, text, message] of [
  [
    'has an unknown field',
    'kind: AdmissionConfiguration\napiVersion: apiserver.config.plat.io/v1\nplugin: []',
    /^--admission-control-config-file: \S+: strict decoding error: unknown field "plugin"$/,
  ],
  [
    'has an invalid plugin configuration',
    'kind: AdmissionConfiguration\napiVersion: apiserver.config.plat.io/v1\nplugins: [{name: PodSecurity, configuration: {}}]',
    /^--admission-control-config-file: \S+: PodSecurity: kind is missing: expected PodSecurityConfiguration of \S+$/,
  ],
  [
    'names users that are not there',
    'kind: AdmissionConfiguration\napiVersion: apiserver.config.plat.io/v1\nplugins: [{name: MutatingAdmissionWebhook, configuration: {kind: WebhookAdmissionConfiguration, apiVersion: apiserver.config.plat.io/v1, kubeConfigFile: /none/users.yaml}}]',
    /^--admission-control-config-file: MutatingAdmissionWebhook: kubeConfigFile \/none\/users\.yaml: no such file or directory$/,
  ],
] as const) {
  test(`a server does not start with a configuration of plugins that ${what}`, async t => {
    await t.throwsAsync(aPlane({...alone, apiserverArgs: [`--admission-control-config-file=${aFile(text)}`]}), {message});
  });
}

test('URLs of a server that listens on all addresses contain one that other machines reach', async t => {
  await using plane = await startPlane({...alone, apiserverArgs: ['--bind-address=0.0.0.0', '--advertise-address=192.0.2.7']});
  const {get} = wire(plane.api.handler);
  const {port} = new URL(plane.url);
  t.is((await get('/.well-known/openid-configuration')).json<{jwks_uri: string}>().jwks_uri, `https://192.0.2.7:${port}/openid/v1/jwks`);
});

test('URLs of a server contain its external host name', async t => {
  await using plane = await startPlane({...alone, apiserverArgs: ['--external-hostname=api.example']});
  const {get} = wire(plane.api.handler);
  const {port} = new URL(plane.url);

  t.deepEqual((await get('/api')).json<{serverAddressByClientCIDRs: object[]}>().serverAddressByClientCIDRs, [
    {clientCIDR: '0.0.0.0/0', serverAddress: `api.example:${port}`},
  ]);
  t.is((await get('/.well-known/openid-configuration')).json<{jwks_uri: string}>().jwks_uri, `https://api.example:${port}/openid/v1/jwks`);
});

for (const [what, args, message] of [
  [
    'an authority that is not there',
    () => ['--platlet-certificate-authority=/none/ca.crt'],
    /^--platlet-certificate-authority: open \/none\/ca\.crt: no such file or directory$/,
  ],
  [
    'an authority that is none',
    () => [`--platlet-certificate-authority=${aFile('nothing')}`],
    /^--platlet-certificate-authority: \S+: .+$/,
  ],
  [
    'a certificate that is not there',
    () => ['--platlet-client-certificate=/none/x.crt', `--platlet-client-key=${aFile(pair.key)}`],
    /^--platlet-client-certificate: open \/none\/x\.crt: no such file or directory$/,
  ],
  [
    'a key that is none',
    () => [`--platlet-client-certificate=${aFile(pair.cert)}`, `--platlet-client-key=${aFile('nothing')}`],
    /^--platlet-client-certificate: \S+, --platlet-client-key: \S+: .+$/,
  ],
  [
    'a key of another certificate',
    () => [`--platlet-client-certificate=${aFile(pair.cert)}`, `--platlet-client-key=${aFile(another.key)}`],
    /^--platlet-client-certificate: \S+, --platlet-client-key: \S+: tls: private key does not match public key$/,
  ],
] as const) {
  test(`a server does not start with ${what} for the agents of nodes`, async t => {
    await t.throwsAsync(aPlane({...alone, apiserverArgs: args()}), {message});
  });
}

test('key pairs for agents and the server change with their files, and stay while these are invalid', async t => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const contents = new Map([
    ['cert', pair.cert],
    ['key', pair.key],
  ]);
  const files: Files = {
    ...systemFiles,
    read: path => Promise.resolve(contents.has(path) ? Buffer.from(contents.get(path)!) : undefined),
    stamp: path => contents.get(path) ?? '',
    watch: () => ({[Symbol.dispose]() {}}),
  };
  const options = {platletCertificateAuthority: '', platletClientCertificate: 'cert', platletClientKey: 'key'};
  const trust = await followAgentTrust(options, {files, clock, log: noLog, signal: stop.signal});
  const first = trust.current;
  contents.set('cert', another.cert);
  await clock.advance(120_000);
  const unfitting = trust.current;
  contents.set('key', another.key);
  await clock.advance(120_000);
  stop.abort();

  t.is(unfitting, first);
  t.is(String(first.verified.pair?.cert), pair.cert);
  t.is(String(trust.current.verified.pair?.cert), another.cert);
  t.is(trust.current.verified.insecure, true, 'without an authority every agent is believed');
});
