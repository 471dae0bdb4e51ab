import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import {
  ApiException,
  ApiextensionsV1Api,
  AppsV1Api,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  V1MicroTime,
  makeInformer,
  setHeaderOptions,
  type KubernetesListObject,
  type KubernetesObject,
  type V1ConfigMap,
  type V1Status,
} from '@kubernetes/client-node';
import test from 'ava';
import {startPlane, type Plane} from '#src/plane/plane.js';

const directory = mkdtempSync(join(tmpdir(), 'plat-client-node-'));
/**
 * The port stays the same when the server is started again, and watches are short, so that they have to be taken up
 * again.
 */
const start = (securePort = 0): Promise<Plane> =>
  startPlane({
    naming: 'kubernetes',
    dataDir: directory,
    securePort,
    controllerManagerArgs: ['--controllers='],
    apiserverArgs: ['--min-request-timeout=1'],
  });
let plane: Plane;
let config: KubeConfig;

test.before(async () => {
  plane = await start();
  config = new KubeConfig();
  config.loadFromString(plane.kubeconfig);
});
test.after.always(async () => {
  await plane?.stop();
  rmSync(directory, {recursive: true, force: true});
});

/** The events of an informer, and a way to wait for more. */
const follow = <T extends KubernetesObject>(path: string, list: () => Promise<KubernetesListObject<T>>) => {
  const informer = makeInformer<T>(config, path, list);
  const reported: string[] = [];
  const news = new EventTarget();
  let connects = 0;
  let over = false;
  for (const verb of ['add', 'update', 'delete'] as const) {
    informer.on(verb, ({metadata}) => {
      reported.push(`${verb} ${metadata?.name}`);
      news.dispatchEvent(new Event('news'));
    });
  }
  informer.on('connect', () => {
    connects++;
    news.dispatchEvent(new Event('news'));
  });
  // As its documentation advises: whatever happens, begin again after a while.
  informer.on('error', () => void (over || wait(100).then(() => informer.start())));
  return {
    reported,
    informer,
    async stop() {
      over = true;
      await informer.stop();
    },
    connects: () => connects,
    async until(holds: () => boolean) {
      while (!holds()) await once(news as never, 'news', {signal: AbortSignal.timeout(20_000)});
    },
  };
};

const reasonOf = (error: unknown): [code: number, reason: string | undefined] => {
  if (!(error instanceof ApiException)) throw error;
  return [error.code, (JSON.parse(String(error.body)) as V1Status).reason];
};

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {name: 'gadgets.example.com'},
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: {plural: 'gadgets', kind: 'Gadget'},
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {status: {}},
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {type: 'object', properties: {size: {type: 'integer'}, color: {type: 'string', _default: 'red'}}},
              status: {type: 'object', properties: {done: {type: 'boolean'}}},
            },
          },
        },
      },
    ],
  },
};
const place = {group: 'example.com', version: 'v1', namespace: 'default', plural: 'gadgets'};
const gadget = (name: string, spec: object = {}) => ({apiVersion: 'example.com/v1', kind: 'Gadget', metadata: {name}, spec});

test.serial('the JavaScript client writes and reads built-in kinds as it does by default', async t => {
  const core = config.makeApiClient(CoreV1Api);
  const {metadata} = await core.createNamespacedConfigMap({
    namespace: 'default',
    body: {metadata: {name: 'a', labels: {app: 'x'}}, data: {k: 'v'}},
  });
  const patched = await core.patchNamespacedConfigMap({
    namespace: 'default',
    name: 'a',
    body: [{op: 'replace', path: '/data/k', value: 'w'}],
  });
  const merged = await core.patchNamespacedConfigMap(
    {namespace: 'default', name: 'a', body: {data: {l: 'm'}}},
    setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
  );
  const applied = await core.patchNamespacedConfigMap(
    {
      namespace: 'default',
      name: 'a',
      fieldManager: 'me',
      body: {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a'}, data: {n: 'o'}},
    },
    setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
  );
  const objects = KubernetesObjectApi.makeApiClient(config);
  const read = await objects.read<V1ConfigMap>({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a', namespace: 'default'}});
  const leases = config.makeApiClient(CoordinationV1Api);
  const renewTime = new V1MicroTime(1_700_000_000_123);
  const lease = await leases.createNamespacedLease({
    namespace: 'default',
    body: {metadata: {name: 'leader'}, spec: {holderIdentity: 'me', leaseDurationSeconds: 15, renewTime}},
  });
  const apps = config.makeApiClient(AppsV1Api);
  const template = {metadata: {labels: {app: 'web'}}, spec: {containers: [{name: 'c', image: 'i'}]}};
  await apps.createNamespacedDeployment({
    namespace: 'default',
    body: {metadata: {name: 'web'}, spec: {replicas: 1, selector: {matchLabels: {app: 'web'}}, template}},
  });
  const scale = await apps.readNamespacedDeploymentScale({namespace: 'default', name: 'web'});
  const scaled = await apps.replaceNamespacedDeploymentScale({namespace: 'default', name: 'web', body: {...scale, spec: {replicas: 3}}});

  t.true(metadata?.creationTimestamp instanceof Date);
  t.deepEqual(
    [patched.data, merged.data, applied.data, read.data],
    [{k: 'w'}, {k: 'w', l: 'm'}, {k: 'w', l: 'm', n: 'o'}, {k: 'w', l: 'm', n: 'o'}],
  );
  t.is(String(lease.spec?.renewTime), '2023-11-14T22:13:20.123000Z', 'which it reads as text, whatever its types declare');
  t.is(scaled.spec?.replicas, 3);
  t.deepEqual(reasonOf(await t.throwsAsync(core.createNamespacedConfigMap({namespace: 'default', body: {metadata: {name: 'a'}}}))), [
    409,
    'AlreadyExists',
  ]);
  t.deepEqual(reasonOf(await t.throwsAsync(core.readNamespacedSecret({namespace: 'default', name: 'none'}))), [404, 'NotFound']);
  t.is(
    (await core.deleteNamespacedConfigMap({namespace: 'default', name: 'a', body: {preconditions: {uid: metadata!.uid!}}})).status,
    'Success',
  );
});

test.serial('the JavaScript client defines a resource and uses it', async t => {
  const definitions = config.makeApiClient(ApiextensionsV1Api);
  const custom = config.makeApiClient(CustomObjectsApi);
  await definitions.createCustomResourceDefinition({body: definition});
  const {conditions = []} = await (async () => {
    for (;;) {
      const {status} = await definitions.readCustomResourceDefinition({name: 'gadgets.example.com'});
      if (status?.conditions?.some(({type, status: holds}) => type === 'Established' && holds === 'True')) return status;
    }
  })();
  t.deepEqual(
    conditions.map(({type, reason}) => `${type} ${reason}`),
    ['NamesAccepted NoConflicts', 'Established InitialNamesAccepted'],
  );

  const made = (await custom.createNamespacedCustomObject({...place, body: gadget('g', {size: 1})})) as ReturnType<typeof gadget> &
    KubernetesObject;
  t.deepEqual(made.spec, {size: 1, color: 'red'});
  const patched = (await custom.patchNamespacedCustomObject({
    ...place,
    name: 'g',
    body: [{op: 'replace', path: '/spec/size', value: 2}],
  })) as typeof made;
  t.deepEqual([patched.spec, patched.metadata], [{size: 2, color: 'red'}, {...patched.metadata, generation: 2} as typeof patched.metadata]);
  const status = (await custom.patchNamespacedCustomObjectStatus(
    {...place, name: 'g', body: {status: {done: true}}},
    setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
  )) as {status: object};
  t.deepEqual(status.status, {done: true});
  t.deepEqual(reasonOf(await t.throwsAsync(custom.replaceNamespacedCustomObject({...place, name: 'g', body: made}))), [409, 'Conflict']);
  t.deepEqual(reasonOf(await t.throwsAsync(custom.createNamespacedCustomObject({...place, body: gadget('h', {size: 'big'})}))), [
    422,
    'Invalid',
  ]);
  const objects = KubernetesObjectApi.makeApiClient(config);
  t.is((await objects.create({...gadget('o'), metadata: {name: 'o', namespace: 'default'}} as KubernetesObject)).metadata?.name, 'o');
  t.deepEqual(
    (await objects.list('example.com/v1', 'Gadget', 'default')).items.map(({metadata}) => metadata?.name),
    ['g', 'o'],
  );
  await custom.deleteNamespacedCustomObject({...place, name: 'o'});
});

test.serial('informers of the JavaScript client take up watches that end, and go on when the server is started again', async t => {
  const core = config.makeApiClient(CoreV1Api);
  const custom = config.makeApiClient(CustomObjectsApi);
  const maps = follow<V1ConfigMap>('/api/v1/namespaces/default/configmaps', () => core.listNamespacedConfigMap({namespace: 'default'}));
  const gadgets = follow<KubernetesObject>(
    '/apis/example.com/v1/namespaces/default/gadgets',
    () => custom.listNamespacedCustomObject(place) as Promise<KubernetesListObject<KubernetesObject>>,
  );
  await Promise.all([maps.informer.start(), gadgets.informer.start()]);
  await core.createNamespacedConfigMap({namespace: 'default', body: {metadata: {name: 'one'}}});
  await custom.createNamespacedCustomObject({...place, body: gadget('one')});
  await maps.until(() => maps.reported.length === 1 && maps.connects() > 1);
  await gadgets.until(() => gadgets.reported.length === 2 && gadgets.connects() > 1);

  const {port} = new URL(plane.url);
  await plane.stop();
  plane = await start(Number(port));
  await core.replaceNamespacedConfigMap({namespace: 'default', name: 'one', body: {metadata: {name: 'one'}, data: {k: 'v'}}});
  await custom.createNamespacedCustomObject({...place, body: gadget('two')});
  await custom.deleteNamespacedCustomObject({...place, name: 'one'});
  await maps.until(() => maps.reported.length === 2);
  await gadgets.until(() => gadgets.reported.length === 4);
  await Promise.all([maps.stop(), gadgets.stop()]);

  t.deepEqual(maps.reported, ['add one', 'update one']);
  t.deepEqual(gadgets.reported, ['add g', 'add one', 'add two', 'delete one']);
  t.deepEqual(
    gadgets.informer.list().map(({metadata}) => metadata?.name),
    ['g', 'two'],
  );
});
