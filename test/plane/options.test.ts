import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds.js';
import {startPlane} from '#src/plane/plane.js';
import {aPlane} from '#test/controllers/plane.js';
import {refusal} from '#test/resources/world.js';
import {wire} from '#test/apiserver/wire.js';

const aFile = (text: string): string => {
  const file = join(mkdtempSync(join(tmpdir(), 'plat-options-')), 'file.yaml');
  writeFileSync(file, text);
  return file;
};

const alone = {controllerManagerArgs: ['--controllers=']};

test('admission plugins are told what the file says', async t => {
  const file = aFile(`
kind: AdmissionConfiguration
apiVersion: apiserver.config.plat.io/v1
plugins:
- name: PodSecurity
  configuration: {kind: PodSecurityConfiguration, apiVersion: pod-security.admission.config.plat.io/v1, defaults: {enforce: baseline}}
`);
  await using plane = await aPlane({...alone, apiserverArgs: [`--admission-control-config-file=${file}`]});
  const pods = plane.client().resource(kinds.pods);
  await plane.client().resource(kinds.serviceAccounts).create({metadata: {name: 'default', namespace: 'default'}});

  t.regex((await refusal(pods.create({metadata: {name: 'p', namespace: 'default'}, spec: {hostPID: true, containers: [{name: 'c', image: 'i'}]}}))).message ?? '', /violates PodSecurity "baseline:latest"/);
});

for (const [what, text, message] of [
  ['has an unknown field', 'kind: AdmissionConfiguration\napiVersion: apiserver.config.plat.io/v1\nplugin: []', /^--admission-control-config-file: \S+: strict decoding error: unknown field "plugin"$/],
  ['tells a plugin nonsense', 'kind: AdmissionConfiguration\napiVersion: apiserver.config.plat.io/v1\nplugins: [{name: PodSecurity, configuration: {}}]', /^--admission-control-config-file: \S+: PodSecurity: kind is missing: expected PodSecurityConfiguration of \S+$/],
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

test('a server is spoken of by the name it has outside', async t => {
  await using plane = await startPlane({...alone, apiserverArgs: ['--external-hostname=api.example']});
  const {get} = wire(plane.api.exchange);
  const {port} = new URL(plane.url);

  t.deepEqual((await get('/api')).json<{serverAddressByClientCIDRs: object[]}>().serverAddressByClientCIDRs, [{clientCIDR: '0.0.0.0/0', serverAddress: `api.example:${port}`}]);
  t.is((await get('/.well-known/openid-configuration')).json<{jwks_uri: string}>().jwks_uri, `https://api.example:${port}/openid/v1/jwks`);
});
