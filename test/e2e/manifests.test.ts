import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {parseAllDocuments} from 'yaml';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import type {PodTemplateSpec} from '#src/api/pod.js';
import type {ClusterRole, PolicyRule} from '#src/api/types.js';
import {controllers} from '#controllers/index.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {eventually} from '#test/cli/eventually.js';
import {aDirectory, aServer, Program, type ServerProcess} from '#test/cli/programs.js';
import {accountSettings} from './account-settings.js';
import {hasKubectl, Kubectl} from './kubectl.js';

const naming = namingOf('kubernetes');
const withKubectl = hasKubectl(25) ? test.serial : test.serial.skip;
const documents = (file: string) =>
  parseAllDocuments(readFileSync(join('manifests', file), 'utf8')).map(document => document.toJS() as {readonly kind: string});

const containerIn = (file: string) => {
  const [{spec}] = documents(file) as unknown as {readonly spec: {readonly template: PodTemplateSpec}}[] as [
    {spec: {template: PodTemplateSpec}},
  ];
  return spec.template.spec!.containers[0]!;
};
const argument = (args: readonly string[], flag: string) => args.find(arg => arg.startsWith(`--${flag}=`))!.slice(flag.length + 3);

const formatted = (rules: readonly PolicyRule[]): string[] => {
  const sorted = (list: readonly string[] = []) => [...list].sort().join(',');
  return rules
    .map(
      ({apiGroups, resources, resourceNames, verbs}) =>
        `${sorted(verbs)} ${sorted(apiGroups)} ${sorted(resources)} ${sorted(resourceNames)}`,
    )
    .sort();
};

test('the controllers of the base have exactly the permissions of their roles', t => {
  const chosen = argument(containerIn('controllers-only/deployment.yaml').args!, 'controllers').split(',');
  const accounts = new Set(
    controllers.filter(({name}) => chosen.includes(name)).map(({serviceAccount}) => `system:controller:${serviceAccount}`),
  );
  const policy = bootstrapPolicy(naming, () => true);
  const [granted] = documents('controllers-only/rights.yaml') as unknown as ClusterRole[];

  t.is(chosen.length, 3);
  t.deepEqual(
    formatted(granted!.rules ?? []),
    formatted(policy.clusterRoles.filter(({metadata}) => accounts.has(metadata?.name ?? '')).flatMap(({rules}) => rules ?? [])),
  );
});

let started: Promise<ServerProcess> | undefined;
/** The server that the bases are applied to. */
const cluster = () => (started ??= aServer('kubernetes', ['--service-cluster-ip-range=10.96.0.0/16', '--allow-privileged']));
test.after.always(async () => (await started)?.[Symbol.asyncDispose]());

withKubectl('kubectl applies the bases under strict validation, twice without a change', async t => {
  const server = await cluster();
  using kubectl = new Kubectl(server.settings);
  for (const base of ['controllers-only', 'control-plane', 'dns', 'proxy']) {
    const first = await kubectl.ok(`apply --validate=strict -k ${join(process.cwd(), 'manifests', base)}`);
    t.notRegex(first, /unchanged|configured/);
    // The selector of a budget and the claims of a stateful set are replaced as a whole, so that kubectl always has
    // something to send; and it takes two ports with one number for the same one.
    t.regex(
      await kubectl.ok(`apply --validate=strict -k ${join(process.cwd(), 'manifests', base)}`),
      /^(\S+ unchanged\n|(poddisruptionbudget|statefulset|deployment\.apps\/plat-dns)\S* configured\n)+$/,
    );
  }
  t.is((await server.client.resource(kinds.deployments).get('plat-controllers', {namespace: 'plat-controllers'})).spec?.replicas, 2);
});

withKubectl("the manager of the base signs requests with its account's token, and can do nothing beyond", async t => {
  const server = await cluster();
  const {client, material} = server;
  using kubectl = new Kubectl(server.settings);
  const settings = await accountSettings(server, kubectl);

  const {command, args = []} = containerIn('controllers-only/deployment.yaml');
  const own = args.map(arg =>
    arg
      .replace('/etc/plat/signing/tls.crt', material.files.ca)
      .replace('/etc/plat/signing/tls.key', material.files.caKey)
      .replace('--secure-port=10257', '--secure-port=0'),
  );
  const manager = new Program(command![0]!, [...own, `--platconfig=${settings}`]);
  await manager.waitFor(/ready: 3 controllers/);
  const requests = client.resource(kinds.certificateSigningRequests);
  const request = Buffer.from(createSigningRequest(await generatePrivateKey(), {subject: {commonName: 'jane'}})).toString('base64');
  await requests.create({metadata: {name: 'jane'}, spec: {request, signerName: naming.signers.apiserverClient, usages: ['client auth']}});
  await kubectl.ok('certificate approve jane');
  const certificate = await eventually(async () => (await requests.get('jane')).status?.certificate);

  t.is(parseCertificateBundle(Buffer.from(certificate, 'base64')).length, 1);
  t.truthy((await client.resource(kinds.leases).get('plat-controller-manager', {namespace: 'plat-controllers'})).spec?.holderIdentity);
  const as = '--as=system:serviceaccount:plat-controllers:plat-controllers';
  for (const [what, answer] of [
    ['list secrets -A', 'no'],
    ['create pods -A', 'no'],
    ['update leases.coordination.k8s.io/other -n plat-controllers', 'no'],
    ['watch certificatesigningrequests', 'yes'],
  ] as const) {
    t.is((await kubectl.try(`auth can-i ${what} ${as}`)).stdout.trim(), answer, what);
  }
  t.is((await manager.stop()).code, 0);
});

test('the control plane of the base starts with its arguments', async t => {
  const {command, args = []} = containerIn('control-plane/statefulset.yaml');
  const folder = aDirectory();
  const plane = new Program(
    command![0]!,
    args.map(arg => arg.replace('/var/lib/plat', folder).replace('--secure-port=6443', '--secure-port=0').replace('0.0.0.0', '127.0.0.1')),
  );
  await plane.waitFor(/^ready/m);

  t.is((await plane.stop()).code, 0);
});
