import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setImmediate} from 'node:timers/promises';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming, NamingName} from '#src/api/naming.js';
import type {Client} from '#src/client/client.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {bareEnvironment, hasKubectl, Kubectl, kubectlMinor, table} from './kubectl.js';

interface Environment {
  readonly kubectl: Kubectl;
  readonly naming: Naming;
  readonly settings: string;
  /** For what is there before, and where the answer of kubectl is not the point: a call of kubectl takes 50 ms. */
  readonly client: Client;
}

type Behaviour = (t: ExecutionContext, env: Environment) => Promise<void>;

const environments = new Map<NamingName, Environment>();
const planes: Plane[] = [];
const directory = mkdtempSync(join(tmpdir(), 'plat-e2e-'));
const namings: readonly NamingName[] = ['plat', 'kubernetes'];

test.before(async () => {
  if (kubectlMinor === 0) return;
  for (const name of namings) {
    const settings = join(directory, `${name}.yaml`);
    const plane = await startPlane({naming: name, kubeconfig: settings});
    planes.push(plane);
    environments.set(name, {kubectl: new Kubectl(settings), naming: plane.naming, settings, client: plane.client()});
  }
});
test.after.always(async () => {
  for (const {kubectl} of environments.values()) kubectl[Symbol.dispose]();
  for (const plane of planes) await plane.stop();
  rmSync(directory, {recursive: true, force: true});
});

/** A behaviour that kubectl sees alike in the namings named. */
const sees = (
  title: string,
  behaviour: Behaviour,
  {namings: among = namings, since = 0}: {readonly namings?: readonly NamingName[]; readonly since?: number} = {},
) => {
  for (const name of among) (hasKubectl(since) ? test : test.skip)(`${title} (${name} naming)`, t => behaviour(t, environments.get(name)!));
};
const hardCoded = {namings: ['kubernetes'] as const};

/**
 * A behaviour that no naming changes: no name of a group but the core one occurs in it, and none of a label or a
 * signer.
 */
const seesAnyway = (title: string, behaviour: Behaviour, {since = 0} = {}) => sees(title, behaviour, {...hardCoded, since});

const aConfigMap = (name: string, data: Readonly<Record<string, string>> = {key: 'value'}, labels?: Readonly<Record<string, string>>) =>
  JSON.stringify({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name, namespace: 'default', labels}, data});

/** Makes a config map without kubectl. */
const make = async ({client}: Pick<Environment, 'client'>, name: string, {data = {key: 'value'}, ...metadata}: MadeConfigMap = {}) => {
  const maps = client.resource(kinds.configMaps);
  return (await maps.create({metadata: {name, namespace: 'default', ...metadata}, data})).metadata!.uid!;
};

interface MadeConfigMap {
  readonly data?: Readonly<Record<string, string>>;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly ownerReferences?: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
    readonly blockOwnerDeletion: boolean;
  }[];
}

const mapOf = ({client}: Pick<Environment, 'client'>, name: string) => client.resource(kinds.configMaps).get(name, {namespace: 'default'});

const aRequest = async ({naming}: Environment, name: string, commonName = name) => {
  const request = Buffer.from(createSigningRequest(await generatePrivateKey(), {subject: {commonName}})).toString('base64');
  const spec = {request, signerName: naming.signers.apiserverClient, usages: ['client auth', 'digital signature']};
  return JSON.stringify({apiVersion: naming.apiVersion('certificates', 'v1'), kind: 'CertificateSigningRequest', metadata: {name}, spec});
};

sees('kubectl get shows the columns of the server', async (t, {kubectl, naming}) => {
  const namespaces = table(await kubectl.ok('get ns'));
  t.deepEqual(namespaces.columns, ['NAME', 'STATUS', 'AGE']);
  const initial = ['default', naming.nodeLeaseNamespace, naming.publicNamespace, naming.systemNamespace].sort();
  t.deepEqual(
    Object.keys(namespaces.rows).filter(name => initial.includes(name)), // Other tests make more.
    initial,
  );
  t.is(namespaces.rows['default']?.[0], 'Active');

  await kubectl.ok('create -f -', aConfigMap('columns', {a: '1', b: '2'}, {app: 'columns'}));
  t.deepEqual(table(await kubectl.ok('get cm -l app=columns -o wide')).rows['columns']?.[0], '2');
  t.is(await kubectl.ok('get cm columns -o jsonpath={.data.b}'), '2');
  t.is(await kubectl.ok('get cm columns -o name'), 'configmap/columns\n');
  t.is(await kubectl.ok('get cm columns -o custom-columns=N:.metadata.name --no-headers'), 'columns\n');
  t.regex(await kubectl.ok('get cm columns -o yaml'), /^apiVersion: v1\ndata:\n {2}a: "1"\n/);
});

seesAnyway('kubectl get reports missing objects with the message of the server', async (t, {kubectl}) => {
  t.deepEqual(await kubectl.try('get cm nowhere'), {
    code: 1,
    stdout: '',
    stderr: 'Error from server (NotFound): configmaps "nowhere" not found\n',
  });
  t.is((await kubectl.try('get cm -n nowhere')).stderr, 'No resources found in nowhere namespace.\n');
});

seesAnyway('kubectl get pages through long lists', async (t, {kubectl}) => {
  const items = Array.from({length: 12}, (_, index) => JSON.parse(aConfigMap(`page-${index}`, {}, {app: 'pages'})) as unknown);
  await kubectl.ok('create -f -', JSON.stringify({apiVersion: 'v1', kind: 'List', items}));

  t.is((await kubectl.ok('get cm -l app=pages --chunk-size=5 -o name')).trimEnd().split('\n').length, 12);
});

sees('kubectl describe prints an object and its events', async (t, {kubectl, naming, client}) => {
  const uid = await make({client}, 'described', {data: {key: 'some text'}, labels: {app: 'd'}});
  const object = {apiVersion: 'v1', kind: 'ConfigMap', name: 'described', namespace: 'default', uid};
  const event = {
    metadata: {name: 'described.1', namespace: 'default'},
    involvedObject: object,
    reason: 'Seen',
    message: 'It was seen.',
    type: 'Normal',
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:00:00Z',
    count: 1,
    source: {component: 'test'},
  };
  await kubectl.ok('create -f -', JSON.stringify({apiVersion: 'v1', kind: 'Event', ...event}));

  const text = await kubectl.ok('describe cm described');
  t.regex(text, /^Name: +described\nNamespace: +default\nLabels: +app=d\n/);
  t.regex(text, /\nkey:\n----\nsome text\n/);
  t.regex(text, /Normal +Seen +.* test +It was seen\./);
  t.true((await kubectl.ok('describe ns default')).includes(`Labels:       ${naming.labels.metadataName}=default`));
});

seesAnyway('kubectl label, annotate and replace change an object', async (t, {kubectl, client}) => {
  await make({client}, 'marked');

  t.is(await kubectl.ok('label cm marked x=1'), 'configmap/marked labeled\n');
  t.regex((await kubectl.try('label cm marked x=2')).stderr, /--overwrite is false/);
  t.regex(await kubectl.ok('annotate cm marked y=2'), /^configmap\/marked annotated\n/);
  t.is(await kubectl.ok('get cm marked -o jsonpath={.metadata.labels.x}{.metadata.annotations.y}'), '12');
  t.regex(await kubectl.ok('label cm marked x-'), /^configmap\/marked (un)?label/);
  t.is(await kubectl.ok('replace -f -', aConfigMap('marked', {other: 'data'})), 'configmap/marked replaced\n');
  const {data, metadata} = await mapOf({client}, 'marked');
  t.deepEqual([data, metadata?.annotations], [{other: 'data'}, undefined]);
});

seesAnyway('kubectl patch patches in three ways', async (t, {kubectl, client}) => {
  await make({client}, 'patched', {data: {a: '1'}});

  t.is(await kubectl.okay(['patch', 'cm', 'patched', '-p', '{"data":{"b":"2"}}']), 'configmap/patched patched\n');
  t.is(await kubectl.okay(['patch', 'cm', 'patched', '--type=merge', '-p', '{"data":{"a":null,"c":"3"}}']), 'configmap/patched patched\n');
  t.is(
    await kubectl.okay(['patch', 'cm', 'patched', '--type=json', '-p', '[{"op":"replace","path":"/data/b","value":"4"}]']),
    'configmap/patched patched\n',
  );
  t.deepEqual((await mapOf({client}, 'patched')).data, {b: '4', c: '3'});
  const failing = await kubectl.run(['patch', 'cm', 'patched', '--type=json', '-p', '[{"op":"remove","path":"/data/none"}]']);
  t.is(failing.code, 1);
  t.regex(failing.stderr, /^The request is invalid/);
});

sees('kubectl apply creates, configures and leaves alone', async (t, {kubectl, client}) => {
  t.is(await kubectl.ok('apply -f -', aConfigMap('applied', {a: '1', b: '2'})), 'configmap/applied created\n');
  t.is(await kubectl.ok('apply -f -', aConfigMap('applied', {a: '1', b: '2'})), 'configmap/applied unchanged\n');
  await kubectl.okay(['patch', 'cm', 'applied', '-p', '{"data":{"mine":"kept"}}']);
  t.is(await kubectl.ok('apply -f -', aConfigMap('applied', {a: '3'})), 'configmap/applied configured\n');
  t.deepEqual((await mapOf({client}, 'applied')).data, {a: '3', mine: 'kept'});
  t.regex(
    await kubectl.ok('apply --dry-run=server -f -', aConfigMap('applied', {a: '4'})),
    /^configmap\/applied configured \(server dry run\)\n$/,
  );
  t.is((await mapOf({client}, 'applied')).data?.['a'], '3');
  const {code, stdout} = await kubectl.try('diff -f -', aConfigMap('applied', {a: '5'}));
  t.is(code, 1);
  t.regex(stdout, /^\+ {2}a: "5"$/m);
});

seesAnyway('kubectl create and apply refuse unknown fields', async (t, {kubectl}) => {
  const bad = JSON.stringify({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'bad', namespace: 'default'}, dta: {}});
  const {code, stderr} = await kubectl.try('create -f -', bad);

  t.is(code, 1);
  t.regex(stderr, /unknown field "dta"/);
});

seesAnyway('kubectl delete deletes by name, by label and all', async (t, {kubectl, client}) => {
  for (const name of ['gone-1', 'gone-2', 'gone-3']) await make({client}, name, {labels: {app: name === 'gone-1' ? 'one' : 'gone'}});

  t.regex(await kubectl.ok('delete cm gone-1'), /^configmap "gone-1" deleted/);
  t.is((await kubectl.ok('delete cm -l app=gone')).trimEnd().split('\n').length, 2);
  t.regex((await kubectl.try('delete cm gone-1')).stderr, /NotFound.*"gone-1" not found/);
  t.is(await kubectl.ok('delete cm gone-1 --ignore-not-found'), '');
});

seesAnyway('kubectl get --watch follows what happens', async (t, {settings, client}) => {
  await client.resource(kinds.namespaces).create({metadata: {name: 'watched'}});
  const child = spawn(
    'kubectl',
    ['get', 'cm', '-n', 'watched', '--watch', '--output-watch-events', '--no-headers', '--field-selector=metadata.name=seen'],
    {env: {...bareEnvironment, KUBECONFIG: settings, HOME: directory}},
  );
  t.teardown(() => child.kill('SIGKILL'));
  let text = '';
  let wake = () => {};
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    wake();
  });
  const saw = async (pattern: RegExp) => {
    while (!pattern.test(text)) await new Promise<void>(resolve => (wake = resolve));
  };

  const maps = client.resource(kinds.configMaps);
  await make({client}, 'seen', {namespace: 'watched'});
  await saw(/ADDED +seen +1/);
  const seen = await maps.get('seen', {namespace: 'watched'});
  await maps.update({...seen, data: {...seen.data, more: '1'}});
  await saw(/MODIFIED +seen +2/);
  await maps.delete('seen', {namespace: 'watched'});
  await saw(/DELETED +seen +2/);
  t.pass();
});

seesAnyway(
  'kubectl wait waits for a field and for a deletion',
  async (t, {kubectl, client}) => {
    await make({client}, 'awaited', {data: {state: 'new'}});
    const [waited] = await Promise.all([
      kubectl.okay(['wait', 'cm/awaited', '--for=jsonpath={.data.state}=done', '--timeout=20s']),
      kubectl.okay(['patch', 'cm', 'awaited', '-p', '{"data":{"state":"done"}}']),
    ]);
    t.is(waited, 'configmap/awaited condition met\n');

    const [gone] = await Promise.all([kubectl.ok('wait cm/awaited --for=delete --timeout=20s'), kubectl.ok('delete cm awaited')]);
    t.regex(gone, /^(configmap\/awaited condition met\n)?$/);
  },
  {since: 24},
);

sees('kubectl explain, api-resources and api-versions list the served resources', async (t, {kubectl, naming}) => {
  t.regex(await kubectl.ok('explain csr.spec.usages'), /FIELD: +usages <\[\]string>/);
  t.regex(await kubectl.ok('explain configmap'), /ConfigMap holds configuration data for pods to consume/);
  t.regex(await kubectl.ok('explain ns.status --recursive'), /phase\s+<string>/);
  const resources = await kubectl.ok('api-resources');
  t.regex(
    resources,
    new RegExp(`^certificatesigningrequests +csr +${naming.group('certificates')}/v1 +false +CertificateSigningRequest$`, 'm'),
  );
  t.regex(resources, /^configmaps +cm +v1 +true +ConfigMap$/m);
  t.true((await kubectl.ok('api-versions')).split('\n').includes(naming.apiVersion('rbac.authorization', 'v1')));
  t.regex(await kubectl.ok('version'), /v1\.35\.\d+-plat/);
  t.is(await kubectl.ok('get --raw /readyz'), 'ok');
});

sees('a namespace is emptied and goes when it is deleted', async (t, {kubectl, client}) => {
  await client.resource(kinds.namespaces).create({metadata: {name: 'short-lived'}});
  await make({client}, 'inside', {namespace: 'short-lived'});

  await kubectl.ok('delete ns short-lived --timeout=60s');

  t.regex((await kubectl.try('get ns short-lived')).stderr, /NotFound/);
  t.deepEqual((await client.resource(kinds.configMaps).list({namespace: 'short-lived'})).items, []);
});

sees('kubectl creates namespaces, config maps, secrets and service accounts by its own commands', async (t, {kubectl}) => {
  t.is(await kubectl.ok('create ns made'), 'namespace/made created\n');
  t.is(await kubectl.ok('create cm c -n made --from-literal=a=b'), 'configmap/c created\n');
  t.is(await kubectl.ok('create secret generic s -n made --from-literal=password=hush'), 'secret/s created\n');
  t.is(await kubectl.ok('create sa robot -n made'), 'serviceaccount/robot created\n');
  t.is(await kubectl.ok('get secret s -n made -o jsonpath={.data.password}'), Buffer.from('hush').toString('base64'));
  t.deepEqual(table(await kubectl.ok('get secret s -n made')).rows['s']?.slice(0, 2), ['Opaque', '1']);
  t.regex((await kubectl.try('create ns made')).stderr, /AlreadyExists.*namespaces "made" already exists/);
  t.regex(await kubectl.ok('describe secret s -n made'), /password: +4 bytes/);
});

sees('kubectl approves a request by patching its approval, and the signer signs it', async (t, {kubectl, ...env}) => {
  await kubectl.ok('create -f -', await aRequest({kubectl, ...env}, 'by-patch'));
  t.deepEqual(table(await kubectl.ok('get csr by-patch')).columns, [
    'NAME',
    'AGE',
    'SIGNERNAME',
    'REQUESTOR',
    'REQUESTEDDURATION',
    'CONDITION',
  ]);
  t.is(table(await kubectl.ok('get csr by-patch')).rows['by-patch']?.at(-1), 'Pending');
  const conditions = [{type: 'Approved', status: 'True', reason: 'Test', message: 'Looked at.'}];
  const path = `/apis/${env.naming.group('certificates')}/v1/certificatesigningrequests/by-patch/approval`;
  const csr = await env.client.resource(kinds.certificateSigningRequests).get('by-patch');

  await kubectl.okay(['replace', '--raw', path, '-f', '-'], JSON.stringify({...csr, status: {conditions}}));

  t.is((await issued(env, 'by-patch'))?.subject.commonName, 'by-patch');
  t.is(table(await kubectl.ok('get csr by-patch')).rows['by-patch']?.at(-1), 'Approved,Issued');
  t.regex(
    await kubectl.ok('describe csr by-patch'),
    env.naming.name === 'kubernetes' ? /Status: +Approved,Issued/ : /Message: +Looked at\./,
  );
});

/** The certificate of a request, as soon as there is one. */
const issued = async ({client}: Pick<Environment, 'client'>, name: string) => {
  for (;;) {
    const {status} = await client.resource(kinds.certificateSigningRequests).get(name);
    if (status?.certificate) return parseCertificateBundle(Buffer.from(status.certificate, 'base64'))[0];
    await setImmediate();
  }
};

seesAnyway('kubectl delete takes dependents along, before the owner or after it, or leaves them', async (t, {kubectl, client}) => {
  const family = async (name: string) => {
    const uid = await make({client}, name);
    await make({client}, `${name}-child`, {ownerReferences: [{apiVersion: 'v1', kind: 'ConfigMap', name, uid, blockOwnerDeletion: true}]});
  };
  for (const name of ['background', 'foreground', 'orphan']) await family(name);

  for (const name of ['background', 'foreground', 'orphan']) await kubectl.ok(`delete cm ${name} --cascade=${name} --timeout=30s`);

  t.regex((await kubectl.try('get cm foreground-child')).stderr, /NotFound/);
  await kubectl.try('wait --for=delete cm/background-child --timeout=30s');
  t.regex((await kubectl.try('get cm background-child')).stderr, /NotFound/);
  t.is((await mapOf({client}, 'orphan-child')).metadata?.ownerReferences, undefined);
});

sees(
  'kubectl certificate approves and denies',
  async (t, {kubectl, ...env}) => {
    for (const name of ['yes', 'no']) await kubectl.ok('create -f -', await aRequest({kubectl, ...env}, name));

    t.is(await kubectl.ok('certificate approve yes'), 'certificatesigningrequest.certificates.k8s.io/yes approved\n');
    t.is(await kubectl.ok('certificate deny no'), 'certificatesigningrequest.certificates.k8s.io/no denied\n');
    t.is((await issued(env, 'yes'))?.subject.commonName, 'yes');
    t.regex((await kubectl.try('certificate deny yes')).stderr, /is already Approved/);
    t.is(table(await kubectl.ok('get csr no')).rows['no']?.at(-1), 'Denied');
  },
  hardCoded,
);

sees(
  'kubectl creates roles and bindings by its own commands, and shows them',
  async (t, {kubectl}) => {
    t.is(await kubectl.ok('create role r --verb=get,list --resource=configmaps'), 'role.rbac.authorization.k8s.io/r created\n');
    t.is(await kubectl.ok('create rolebinding b --role=r --user=reader'), 'rolebinding.rbac.authorization.k8s.io/b created\n');
    t.is(await kubectl.ok('create clusterrole cr --verb=get --resource=nodes'), 'clusterrole.rbac.authorization.k8s.io/cr created\n');
    t.is(
      await kubectl.ok('create clusterrolebinding cb --clusterrole=cr --group=readers'),
      'clusterrolebinding.rbac.authorization.k8s.io/cb created\n',
    );
    t.is(table(await kubectl.ok('get rolebinding b')).rows['b']?.[0], 'Role/r');
    t.regex(await kubectl.ok('describe role r'), /configmaps +\[\] +\[\] +\[get list\]/);
    t.is(await kubectl.ok('auth can-i list configmaps --as=reader'), 'yes\n');
    t.deepEqual(await kubectl.try('auth can-i delete configmaps --as=reader'), {code: 1, stdout: 'no\n', stderr: ''});
    t.regex(
      (await kubectl.try('get secrets --as=reader')).stderr,
      /^Error from server \(Forbidden\): secrets is forbidden: User "reader" cannot list resource "secrets" in API group "" in the namespace "default"\n$/,
    );
    t.regex(await kubectl.ok('auth can-i --list --as=reader'), /configmaps +\[\] +\[\] +\[get list\]/);
  },
  hardCoded,
);

sees(
  'kubectl auth whoami prints the user',
  async (t, {kubectl}) => {
    const {rows} = table(await kubectl.ok('auth whoami'));
    t.deepEqual(rows['Username'], ['plat-admin']);
    t.deepEqual(rows['Groups'], ['[system:masters system:authenticated]']);
  },
  {...hardCoded, since: 28},
);
