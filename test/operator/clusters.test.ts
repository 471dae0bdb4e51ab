import test, {type ExecutionContext} from 'ava';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {
  createManager,
  customKind,
  defineController,
  mapped,
  on,
  selection,
  type KubeObject,
  type OperatorController,
} from '#src/operator/index.js';
import {ConfigMap, Secret} from '#src/operator/kinds.js';
import {startPlane} from '#src/plane/plane.js';

interface Website extends KubeObject {
  spec: {text: string};
  status?: {seen?: string};
}
const Website = customKind<Website, 'Website'>({group: 'example.com', version: 'v1', kind: 'Website', plural: 'websites'});

const open = {type: 'object', 'x-kubernetes-preserve-unknown-fields': true};
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {name: 'websites.example.com'},
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: {kind: 'Website', plural: 'websites'},
    versions: [{name: 'v1', served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: open}}],
  },
};

const metadata = {name: 'a', namespace: 'default'};

/** A manager in the hub, and another cluster with the opposite naming. */
const twoClusters = async (t: ExecutionContext, controllers: readonly OperatorController[], namespaces: readonly string[] = []) => {
  const clock = new VirtualClock();
  const common = {listen: false, clock, controllerManagerArgs: ['--controllers='], freeze: true};
  const [hub, edge] = [await startPlane({...common, manifests: [definition]}), await startPlane({...common, naming: 'plat'})];
  t.teardown(async () => {
    await hub.stop();
    await edge.stop();
  });
  const manager = createManager({
    controllers,
    client: hub.client(),
    clusters: {edge: edge.client()},
    clock,
    log: noLog,
    freeze: true,
    namespaces,
  });
  const stop = new AbortController();
  const run = manager.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await run;
  });
  await manager.ready;
  await clock.drain();
  return {clock, hub: hub.client(), edge: edge.client(), manager};
};

/** Keeps a config map in the edge for each website of the hub, and shows in the hub what the edge has. */
const publishing = defineController({
  name: 'publishing',
  for: Website,
  owns: [Secret],
  watches: [mapped(on('edge', selection(ConfigMap, {labelSelector: 'website'})), map => [map])],
  async reconcile({key, object, caches, client}) {
    if (!object) return client.cluster('edge').delete(ConfigMap, key);
    const edge = client.cluster('edge');
    await edge.apply(ConfigMap, {metadata: {...key, labels: {website: key.name}}, data: {text: object.spec.text}});
    await client.apply(Secret, {metadata: key});
    const map = caches.get(on('edge', selection(ConfigMap, {labelSelector: 'website'})), key);
    await client.status(object, status => {
      status.seen = map?.data?.['text'] ?? '';
    });
  },
});

test('a controller of one cluster writes to another and follows what happens there', async t => {
  const {clock, hub, edge, manager} = await twoClusters(t, [publishing]);

  await hub.apply(Website, {metadata, spec: {text: 'hello'}});
  await clock.drain();
  const map = await edge.get(ConfigMap, metadata);
  t.is(map?.data?.['text'], 'hello');
  t.is(map?.metadata.ownerReferences, undefined);
  t.is((await hub.get(Website, metadata))?.status?.seen, 'hello');
  t.is((await hub.get(Secret, metadata))?.metadata.ownerReferences?.[0]?.kind, 'Website');
  t.is(await hub.get(ConfigMap, metadata), undefined);

  await edge.delete(ConfigMap, metadata);
  await clock.drain();
  t.not((await edge.get(ConfigMap, metadata))?.metadata.uid, map?.metadata.uid);
  await hub.delete(Website, metadata);
  await clock.drain();
  t.is(await edge.get(ConfigMap, metadata), undefined);
  t.regex((await manager.metrics()).body, /^informer_synced\{.*configmaps website edge.*\} 1$/m);
});

test('the objects of a controller can be in another cluster, with finalizers and what it owns there', async t => {
  const seen: string[] = [];
  const controller = defineController({
    name: 'edge-maps',
    for: on('edge', selection(ConfigMap, {namespace: 'default'})),
    owns: [on('edge', Secret)],
    reads: [ConfigMap],
    finalizer: 'example.com/edge',
    async finalize({key}) {
      seen.push(`finalized ${key.name}`);
    },
    async reconcile({key, object, caches, client}) {
      if (!object) return;
      seen.push(`${key.name}: ${caches.get(ConfigMap, key)?.data?.['in'] ?? 'nothing'} in the hub, ${object.data?.['in']} in the edge`);
      await client.cluster('edge').apply(Secret, {metadata: key});
      await client.apply(Secret, {metadata: key});
    },
  });
  const {clock, hub, edge} = await twoClusters(t, [controller]);

  await hub.apply(ConfigMap, {metadata, data: {in: 'hub'}});
  await clock.drain();
  await edge.apply(ConfigMap, {metadata, data: {in: 'edge'}});
  await clock.drain();
  t.is(seen[0], 'a: hub in the hub, edge in the edge');
  t.like((await edge.get(Secret, metadata))?.metadata.ownerReferences?.[0], {apiVersion: 'v1', kind: 'ConfigMap', name: 'a'});
  t.is((await hub.get(Secret, metadata))?.metadata.ownerReferences, undefined);
  t.is((await hub.get(ConfigMap, metadata))?.metadata.finalizers, undefined);
  await edge.delete(ConfigMap, metadata);
  await clock.drain();

  t.is(seen.at(-1), 'finalized a');
  t.is(await edge.get(ConfigMap, metadata), undefined);
});

test('what cannot be done with clusters is refused in words', async t => {
  const {hub} = await twoClusters(t, []);

  t.throws(() => hub.cluster('edge'), {message: 'there is no cluster "edge" in the manager of this client'});
  t.throws(() => defineController({name: 'a', for: ConfigMap, owns: [on('edge', Secret)], async reconcile() {}}), {
    instanceOf: TypeError,
    message: 'controller a: it cannot own Secret in another cluster than its own objects',
  });
  const lost = defineController({name: 'lost', for: on('moon', ConfigMap), async reconcile() {}});
  await t.throwsAsync(createManager({controllers: [lost], client: hub, log: noLog}).run(new AbortController().signal), {
    message: /there is no cluster "moon"/,
  });
});
