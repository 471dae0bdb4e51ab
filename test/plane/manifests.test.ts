import {createServer} from 'node:https';
import {once} from 'node:events';
import {mkdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import type {AddressInfo} from 'node:net';
import {dirname, join} from 'node:path';
import test from 'ava';
import {customKind} from '#src/api/kind.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {waitTimeoutMs, waitFor} from '#src/plane/manifests/wait-for.js';
import type {Plane} from '#src/plane/plane.js';
import {aDirectory} from '#test/cli/programs.js';
import {aPlane} from '#test/controllers/plane.js';

const plane = await aPlane({naming: 'kubernetes', nodes: 1, controllers: ['*', '-garbage-collector-controller']});
test.after.always(() => plane.stop());

const directory = aDirectory();
let folders = 0;
/** A folder with these files; the answer is its path. */
const aFolder = (files: Readonly<Record<string, string>>): string => {
  const folder = join(directory, String(folders++));
  mkdirSync(folder);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), {recursive: true});
    writeFileSync(join(folder, file), text);
  }
  return folder;
};

interface Tab extends KubeObject {
  readonly spec: {readonly schedule: string};
}
const tabs = (group: string): Kind<Tab> => customKind<Tab>({group, version: 'v1', kind: 'Tab', plural: 'tabs'});
const definition = (group: string, more = '') => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tabs.${group}}
spec:
  group: ${group}
  scope: Namespaced
  names: {plural: tabs, kind: Tab}
${more}  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {schedule: {type: string}}}}}}
`;
const tab = (group: string, namespace: string, schedule = 'daily') =>
  `{apiVersion: ${group}/v1, kind: Tab, metadata: {name: one, namespace: ${namespace}}, spec: {schedule: ${schedule}}}\n`;

const namesOf = (objects: readonly KubeObject[]): (string | undefined)[] => objects.map(({metadata}) => metadata?.name);

test('files are applied in an order in which they can work, whatever they are called', async t => {
  const folder = aFolder({
    '1.yaml': `# The resource comes before all that it needs.\n---\n${tab('order.example.com', 'orders')}---\napiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: orders}\nspec: {containers: [{name: web, image: nginx}], priorityClassName: urgent}\n`,
    '2.yml': `---\nkind: PriorityClass\napiVersion: scheduling.k8s.io/v1\nmetadata: {name: urgent}\nvalue: 7\n--- # the definition\n${definition('order.example.com')}`,
    '3.json': '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "orders"}}]}',
    'kustomization.yaml': 'resources: [1.yaml]',
    'README.md': 'Nothing to apply.',
    'deeper/4.yaml': 'not even: [YAML',
  });
  const applied = await plane.apply([folder, {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'from-an-object'}}]);

  t.deepEqual(namesOf(applied), ['one', 'web', 'urgent', 'tabs.order.example.com', 'orders', 'from-an-object']);
  t.is((await plane.client().resource(tabs('order.example.com')).get('one', {namespace: 'orders'})).spec.schedule, 'daily');
  t.is((await plane.client().resource(kinds.pods).get('web', {namespace: 'orders'})).spec?.priority, 7);
  t.is(applied.at(-1)?.metadata?.namespace, 'default');
  const [owner] = applied[0]?.metadata?.managedFields ?? [];
  t.like(owner, {manager: 'plat', operation: 'Apply'});
});

test('manifests that affect other writes are applied after them', async t => {
  const hook = (kind: string) =>
    `apiVersion: admissionregistration.k8s.io/v1\nkind: ${kind}\nmetadata: {name: closed}\nwebhooks:\n- name: closed.example.com\n  clientConfig: {url: 'https://127.0.0.1:1/'}\n  rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}]\n  objectSelector: {matchLabels: {validated: 'yes'}}\n  sideEffects: None\n  admissionReviewVersions: [v1]\n`;
  const folder = aFolder({
    'a.yaml': `${hook('MutatingWebhookConfiguration')}---\n${hook('ValidatingWebhookConfiguration')}`,
    'b.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: validated, labels: {validated: "yes"}}\n',
  });

  t.is((await plane.apply(folder)).length, 3);
  await t.throwsAsync(plane.apply({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'validated-later', labels: {validated: 'yes'}}}), {
    message: /failed calling webhook "closed\.example\.com"/,
  });
});

test('applying again changes nothing, and reverts changes of others', async t => {
  const folder = aFolder({
    'map.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: again}\ndata: {text: hello}\n',
    'tabs.yaml': definition('again.example.com'),
  });
  const maps = plane.client().resource(kinds.configMaps);
  const versions = (objects: readonly KubeObject[]) => objects.map(({metadata}) => metadata?.resourceVersion);
  const [first] = [await plane.apply(folder)];
  await plane.clock.drain();

  t.deepEqual(versions(await plane.apply(folder)).slice(0, 1), versions(first).slice(0, 1));
  await maps.patch('again', 'merge', {data: {text: 'changed', more: 'kept'}}, {namespace: 'default'});
  await plane.apply(folder);
  t.deepEqual((await maps.get('again', {namespace: 'default'})).data, {text: 'hello', more: 'kept'});
});

const map = (more: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: faulty}\n${more}`;
const faults: readonly (readonly [what: string, file: string, text: string, message: RegExp])[] = [
  ['of an unreadable document', 'a.yaml', `${map('')}---\na: ]\nb: 1\n`, /^\S+a\.yaml, document 2: yaml: line 4: \S/],
  [
    'of a key set twice',
    'a.yaml',
    map('data: {a: "1"}\ndata: {}\n'),
    /^\S+a\.yaml: strict decoding error: yaml: unmarshal errors: line 5: key "data" already set in map$/,
  ],
  ['of unreadable JSON', 'a.json', '{', /^\S+a\.json: couldn't get version\/kind; json parse error: unexpected end of JSON input$/],
  [
    'of a document that is no object',
    'a.yaml',
    '[1]',
    /^\S+a\.yaml: couldn't get version\/kind; json parse error: json: cannot unmarshal array/,
  ],
  ['without a version', 'a.yaml', 'kind: ConfigMap', /^\S+a\.yaml: apiVersion is missing$/],
  ['without a kind', 'a.yaml', 'apiVersion: v1', /^\S+a\.yaml: kind is missing$/],
  ['without a name', 'a.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}', /^\S+a\.yaml: metadata\.name is missing$/],
  [
    'of an item of a list',
    'a.yaml',
    `apiVersion: v1\nkind: List\nitems:\n- {kind: Secret}\n`,
    /^\S+a\.yaml, items\[0\]: apiVersion is missing$/,
  ],
  [
    'of an unknown kind',
    'a.yaml',
    'apiVersion: v1\nkind: ConfigMop\nmetadata: {name: a}',
    /^\S+a\.yaml \(ConfigMop a\): the server knows no ConfigMop in v1$/,
  ],
  [
    'of the other vocabulary',
    'a.yaml',
    'apiVersion: certificates.plat.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: a}',
    /\(CertificateSigningRequest a\): the server knows no CertificateSigningRequest in certificates\.plat\.io\/v1 \(it speaks the kubernetes naming; certificates\.plat\.io is of the plat naming\)$/,
  ],
  [
    'of an unknown field',
    'a.yaml',
    `${map('')}---\n${map('datas: {}\n')}`,
    /^\S+a\.yaml, document 2 \(ConfigMap faulty\): .*\.datas: field not declared in schema$/,
  ],
  [
    'of a wrong value',
    'a.yaml',
    map('data: {"a b": ""}'),
    /^\S+a\.yaml \(ConfigMap faulty\): ConfigMap "faulty" is invalid: data\[a b\]: Invalid value: "a b": /,
  ],
  [
    'of a definition whose name is taken',
    'a.yaml',
    definition('taken.example.com').replace('{name: tabs.', '{name: tubs.').replace('plural: tabs', 'plural: tubs'),
    /^\S+a\.yaml \(CustomResourceDefinition tubs\.taken\.example\.com\): the definition is not established: "TabList" is already in use$/,
  ],
];
test('a manifest that cannot be applied is reported in one line with file, document and field', async t => {
  await plane.apply(aFolder({'first.yaml': definition('taken.example.com')}));
  for (const [what, file, text, message] of faults) {
    const error = await t.throwsAsync(plane.apply(join(aFolder({[file]: text}), file)), {message}, what);
    t.false(error?.message.includes('\n'), what);
  }
  await t.throwsAsync(plane.apply('/nowhere/at-all.yaml'), {message: '/nowhere/at-all.yaml: there is no such file or folder'});
  await t.throwsAsync(plane.apply(aFolder({'a.txt': ''})), {message: /: the folder holds no file that ends in \.yaml, \.yml, \.json$/});
  await t.throwsAsync(plane.apply([{kind: 'ConfigMap'}]), {message: 'manifests[0]: apiVersion is missing'});
  await t.throwsAsync(plane.apply([null as never]), {message: 'manifests[0]: must be an object, not null'});
});

test('everything is read before anything is written', async t => {
  const folder = aFolder({'1.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unwritten}\n', '2.yaml': 'apiVersion: v1\n'});
  await t.throwsAsync(plane.apply(folder), {message: /2\.yaml: kind is missing$/});

  await t.throwsAsync(plane.client().resource(kinds.configMaps).get('unwritten', {namespace: 'default'}), {
    instanceOf: StatusError,
    message: 'configmaps "unwritten" not found',
  });
});

test('waiting for a manifest ends after ten seconds, with the last state', async t => {
  const client = plane.client();
  await client.resource(kinds.configMaps).create({metadata: {name: 'slow', namespace: 'default'}, data: {state: 'pending'}});
  const waiting = waitFor({
    client,
    clock: plane.clock,
    kind: kinds.configMaps,
    name: 'slow',
    namespace: 'default',
    isThere: ({data}) => data?.['state'] === 'ready',
    late: last => `still ${last?.data?.['state']}`,
  });
  const given = t.throwsAsync(waiting, {message: 'still pending'});
  await plane.clock.advance(waitTimeoutMs);

  await given;
});

test('why the server refused is the cause of the error', async t => {
  const error = await t.throwsAsync(plane.apply({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a', namespace: 'nowhere'}}));

  t.is((error!.cause as StatusError).reason, 'NotFound');
});

test('a plane has its manifests in force when it is ready', async t => {
  await using own = await aPlane({
    manifests: [{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'early'}, data: {text: 'hello'}}],
    controllers: [],
  });

  t.is((await own.client().resource(kinds.configMaps).get('early', {namespace: 'default'})).data?.['text'], 'hello');
});

test('a plane whose manifests are refused does not start', async t => {
  await t.throwsAsync(aPlane({manifests: ['/nowhere'], controllers: []}), {message: /^\/nowhere: there is no such file or folder$/});
});

interface Review {
  readonly kind: string;
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion?: string;
    readonly objects?: readonly KubeObject[];
    readonly object?: Tab;
  };
}

/**
 * An operator's server of webhooks with the pair that the plane made for it: it converts between versions, and refuses
 * `never`.
 */
const anOperator = async (pair: Awaited<ReturnType<Plane['webhookPair']>>) => {
  const requested: string[] = [];
  const server = createServer({cert: pair.certificate, key: pair.key}, (request, response) => {
    void request.toArray().then(chunks => {
      requested.push(new URL(request.url!, 'https://localhost').pathname);
      const {request: review, ...type} = JSON.parse(Buffer.concat(chunks).toString()) as Review;
      const answer = review.objects
        ? {result: {status: 'Success'}, convertedObjects: review.objects.map(object => ({...object, apiVersion: review.desiredAPIVersion}))}
        : {allowed: review.object?.spec.schedule !== 'never', status: {message: 'never is no schedule'}};
      response.setHeader('content-type', 'application/json').end(JSON.stringify({...type, response: {uid: review.uid, ...answer}}));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {requested, port: (server.address() as AddressInfo).port, close: () => void server.close().closeAllConnections()};
};

test('webhooks of the manifests are called on this machine, with a key pair that the plane trusts', async t => {
  const operator = await anOperator(await plane.webhookPair());
  t.teardown(operator.close);
  const service = (path: string) => `{service: {namespace: operators, name: tabs, path: ${path}}}`;
  const conversion = `  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: ${service('/convert')}}}\n`;
  const second = definition('hooks.example.com')
    .match(/ {2}- name: v1[^]*/)![0]
    .replace('name: v1', 'name: v2')
    .replace('storage: true', 'storage: false');
  const folder = aFolder({
    'crd.yaml': definition('hooks.example.com', conversion) + second,
    'hooks.yaml': `apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: tabs}\nwebhooks:\n- name: tabs.example.com\n  clientConfig: ${service('/validate')}\n  rules: [{operations: [CREATE], apiGroups: [hooks.example.com], apiVersions: [v1], resources: [tabs]}]\n  sideEffects: None\n  admissionReviewVersions: [v1]\n`,
  });
  await plane.apply(folder, {webhooks: {port: operator.port}});
  await plane.clock.drain();
  const client = plane.client();

  const refused = await t.throwsAsync(
    client.resource(tabs('hooks.example.com')).create({metadata: {name: 'a', namespace: 'default'}, spec: {schedule: 'never'}}),
  );
  t.is(refused?.message, 'admission webhook "tabs.example.com" denied the request: never is no schedule');
  await client.resource(tabs('hooks.example.com')).create({metadata: {name: 'b', namespace: 'default'}, spec: {schedule: 'weekly'}});
  const converted = await client.resource({...tabs('hooks.example.com'), version: 'v2'}).get('b', {namespace: 'default'});
  t.like(converted, {apiVersion: 'hooks.example.com/v2', spec: {schedule: 'weekly'}});
  t.deepEqual([...new Set(operator.requested)].sort(), ['/convert', '/validate']);
});

test('webhooks with a URL of their own are left alone, and so are all when no port is given', async t => {
  const configuration = (clientConfig: object, name: string) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: {name},
    webhooks: [{name: 'a.example.com', clientConfig, rules: [], sideEffects: 'None', admissionReviewVersions: ['v1']}],
  });
  const configOf = (object: KubeObject | undefined) => (object as {webhooks: {clientConfig: object}[]}).webhooks[0]?.clientConfig;
  const service = {namespace: 'a', name: 'b', port: 443};
  const {caBundle} = await plane.webhookPair();
  const [elsewhere, moved] = await plane.apply(
    [configuration({url: 'https://example.com/'}, 'elsewhere'), configuration({service}, 'moved')],
    {webhooks: {port: 9443}},
  );
  const [kept] = await plane.apply(configuration({service}, 'kept'));

  t.deepEqual(configOf(elsewhere), {url: 'https://example.com/'});
  t.deepEqual(configOf(moved), {url: 'https://127.0.0.1:9443/', caBundle});
  t.deepEqual(configOf(kept), {service});
});

test('the pair for webhooks lies in files that only their owner reads, and stays the same', async t => {
  const pair = await plane.webhookPair();

  t.is(pair.folder, pair.directory);
  t.is(readFileSync(join(pair.directory, 'tls.crt'), 'utf8'), pair.certificate);
  t.is(readFileSync(join(pair.directory, 'tls.key'), 'utf8'), pair.key);
  t.is(statSync(join(pair.directory, 'tls.key')).mode & 0o777, 0o600);
  t.is(statSync(pair.directory).mode & 0o777, 0o700);
  t.is((await plane.webhookPair()).certificate, pair.certificate);
});
