import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import {names, samples} from './samples.js';
import {settled, startWire} from './wire.js';

interface Case {
  readonly collection: string;
  readonly make: (name: string, labels?: Record<string, string>) => KubeObject;
}

const caseOf = (namingName: 'plat' | 'kubernetes', {kind}: ServedResource): Case => {
  const words = naming(namingName);
  const group = words.group(kind.group);
  const sample = (name: string) => {
    const known = samples(words, name);
    return known[`${group}/${kind.kind}`] ?? known[kind.kind] ?? {};
  };
  const root = group ? `/apis/${group}` : '/api';
  return {
    collection: `${root}/${kind.version}/${kind.namespaced ? 'namespaces/default/' : ''}${kind.plural}`,
    make: (name, labels = {}) => ({
      apiVersion: words.apiVersion(kind.group, kind.version),
      kind: kind.kind,
      metadata: {name: called(kind, name), labels: {family: 'kinds', ...labels}},
      ...sample(called(kind, name)),
    }),
  };
};

const called = ({kind}: {readonly kind: string}, name: string): string => names[kind]?.[name] ?? name;

/** Gates without which some kinds are not served at all. */
const gates = new Set([
  'APIServerIdentity',
  'ClusterTrustBundle',
  'PodCertificateRequest',
  'StorageVersionAPI',
  'StorageVersionMigrator',
  'WatchList',
]);
const gate = (name: string): boolean => gates.has(name);

const {server} = await startWire({gate});
const stored = [...server.registry.served].filter(({resource}) => !resource.definition.review && !resource.definition.virtual);
const address = ({kind}: ServedResource): string => `${kind.group || 'core'}/${kind.version} ${kind.plural}`;

for (const namingName of ['plat', 'kubernetes'] as const) {
  for (const {kind} of stored) {
    test(`in the ${namingName} naming ${address({kind} as ServedResource)} go from create to delete, and a watch delivers every step`, async t => {
      const env = await startWire({namingName, gate});
      const served = env.server.registry.find(naming(namingName).group(kind.group), kind.version, kind.plural)!;
      const {collection, make} = caseOf(namingName, served);
      using stream = await env.watch(`${collection}?watch=1&labelSelector=family=kinds`);
      const one = called(kind, 'one');
      const item = `${collection}/${one}`;

      const dry = await env.post(`${collection}?dryRun=All`, make('one'));
      t.is(dry.status, 201, dry.text);
      t.is(dry.json().metadata?.resourceVersion, undefined);
      t.is((await env.get(item)).status, 404);

      const created = await env.post(collection, make('one'));
      t.is(created.status, 201, `${created.text} (a kind that needs more than a name has its sample in samples.ts)`);
      const got = await env.get(item);
      t.deepEqual(got.json(), created.json(), 'get shows what create answered');
      t.is((await env.post(collection, make('one'))).status, 409);

      const listed = (await env.get(`${collection}?labelSelector=family=kinds`)).json<KubeList<KubeObject>>();
      const {kind: ownKind, apiVersion, ...item1} = created.json();
      t.deepEqual(listed.items, [item1]);
      t.deepEqual([listed.kind, listed.apiVersion], [`${ownKind}List`, apiVersion]);
      for (const shape of ['Table', 'PartialObjectMetadataList']) {
        const headers = {accept: `application/json;as=${shape};v=v1;g=${naming(namingName).group('meta')}`};
        const [cut, made] = [await env.get(collection, {headers}), await env.get(`${collection}?pretty=true`, {headers})];
        t.deepEqual(cut.json(), made.json(), 'what is cut from stored bytes is what is made of objects');
      }

      const same = await env.put(item, created.json());
      t.is(same.status, 200, same.text);
      t.deepEqual(same.json(), created.json(), 'a write that changes nothing keeps the resourceVersion');

      const updated = await env.put(item, {
        ...created.json<KubeObject>(),
        metadata: {...created.json().metadata, annotations: {by: 'put'}},
      });
      t.is(updated.json().metadata?.annotations?.['by'], 'put', updated.text);
      t.is((await env.put(item, created.json())).status, 409, 'an old resourceVersion is a conflict');

      const patches = [
        ['merge', '+json', {metadata: {annotations: {by: 'merge'}}}],
        ['strategic-merge', '+json', {metadata: {annotations: {by: 'strategic-merge'}}}],
        ['json', '+json', [{op: 'replace', path: '/metadata/annotations/by', value: 'json'}]],
      ] as const;
      for (const [type, , patch] of patches) {
        const patched = await env.patch(item, patch, {headers: {'content-type': `application/${type}-patch+json`}});
        t.is(patched.json().metadata?.annotations?.['by'], type, patched.text);
      }

      const dryPatch = await env.patch(`${item}?dryRun=All`, {metadata: {annotations: {by: 'nobody'}}});
      t.is(dryPatch.json().metadata?.annotations?.['by'], 'nobody', dryPatch.text);
      t.is((await env.get(item)).json().metadata?.annotations?.['by'], 'json');

      for (const subresource of Object.keys(served.resource.definition.subresources ?? {})) {
        if (served.resource.definition.subresources?.[subresource]?.verbs) continue;
        const shown = await env.get(`${item}/${subresource}`);
        const whole = (await env.get(item)).json<KubeObject>();
        const view = served.resource.definition.subresources?.[subresource]?.view;
        t.like(shown.json(), view ? {metadata: {uid: whole.metadata!.uid}, kind: view.shows.kind.kind} : whole, subresource);
        t.is((await env.put(`${item}/${subresource}`, shown.json())).status, 200);
        t.is((await env.patch(`${item}/${subresource}`, {metadata: {resourceVersion: '1'}})).status, 409);
        t.is(
          (
            await env.put(`${collection}/${called(kind, 'none')}/${subresource}`, {
              ...(view ? shown.json<KubeObject>() : {}),
              ...(view ? {metadata: {name: 'none'}} : make('none')),
            })
          ).status,
          404,
        );
      }

      const before = await env.get(item);
      t.is((await env.remove(`${item}?dryRun=All`)).status, 200);
      t.deepEqual((await env.get(item)).json(), before.json(), 'a dry delete leaves the object alone');

      const twoSteps = kind.kind === 'Namespace' || kind.kind === 'CustomResourceDefinition';
      t.is((await env.remove(item)).status, 200);
      if (kind.kind === 'Namespace') await env.put(`${item}/finalize`, {...(await env.get(item)).json<KubeObject>(), spec: {}});
      else if (twoSteps) await env.patch(item, {metadata: {finalizers: null}});
      t.is((await env.remove(item)).status, 404);
      await settled(env.clock);
      const reported = [
        `ADDED ${one}`,
        ...Array.from({length: twoSteps || served.resource.definition.deletion?.gracePeriod ? 5 : 4}, () => `MODIFIED ${one}`),
        `DELETED ${one}`,
      ];
      t.deepEqual(stream.summaries, reported);
      const versions = stream.events.map(({object}) => Number(object.metadata?.resourceVersion));
      t.deepEqual(
        versions,
        [...new Set(versions)].sort((a, b) => a - b),
        'events come in the order of their versions',
      );

      if (served.resource.definition.deletion?.excludesCollection) {
        t.is((await env.remove(collection)).status, 405);
        return;
      }
      for (const name of ['a', 'b']) await env.post(collection, make(name, {kept: String(name === 'b')}));
      const gone = await env.remove(`${collection}?labelSelector=kept=false,family=kinds`);
      t.is(gone.status, 200, gone.text);
      const left = (await env.get(`${collection}?labelSelector=family=kinds`)).json<KubeList<KubeObject>>();
      t.deepEqual(
        left.items.filter(({metadata}) => !metadata?.deletionTimestamp).map(({metadata}) => metadata?.name),
        [called(kind, 'b')],
      );
    });
  }
}

const everything = ['annotations', 'finalizers', 'labels', 'ownerReferences'];

/** The metadata that subresources of some kinds write; the others write everything. */
const received: Readonly<Record<string, readonly string[]>> = {
  'APIService/status': [],
  'DeviceTaintRule/status': [],
  'FlowSchema/status': [],
  'PodCertificateRequest/status': [],
  'PriorityLevelConfiguration/status': [],
  'ResourceClaim/status': [],
  'ServiceCIDR/status': [],
  'StorageVersion/status': [],
  'StorageVersionMigration/status': [],
  'ValidatingAdmissionPolicy/status': [],
  'VolumeAttachment/status': [],
  'Deployment/status': ['annotations', 'finalizers', 'ownerReferences'],
  'Pod/status': ['annotations', 'finalizers', 'labels'],
  'Pod/ephemeralcontainers': [],
  'Pod/resize': [],
};

for (const served of stored.filter(({kind, resource}) => kind.version === resource.definition.kind.version)) {
  for (const [subresource, {verbs, view}] of Object.entries(served.resource.definition.subresources ?? {})) {
    if (verbs || view) continue;
    test(`${subresource} of ${address(served)} writes the metadata it should`, async t => {
      const {post, patch} = await startWire({gate});
      const {collection, make} = caseOf('plat', served);
      await post(collection, make('one'));
      const metadata = {
        labels: {x: 'y'},
        annotations: {x: 'y'},
        finalizers: ['example.com/x'],
        ownerReferences: [{apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u'}],
      };
      const answer = await patch(`${collection}/${called(served.kind, 'one')}/${subresource}`, {metadata});
      t.is(answer.status, 200, answer.text);
      const now = answer.json().metadata;
      const there = [
        now?.annotations?.['x'] && 'annotations',
        now?.finalizers?.length && 'finalizers',
        now?.labels?.['x'] && 'labels',
        now?.ownerReferences?.length && 'ownerReferences',
      ];

      t.deepEqual(there.filter(Boolean), [...(received[`${served.kind.kind}/${subresource}`] ?? everything)]);
    });
  }
}
