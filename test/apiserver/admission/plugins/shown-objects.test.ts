import test from 'ava';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject, Node, ObjectMeta} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {AdmissionAttributes, AdmissionPlugin, Phase} from '#src/apiserver/admission/admission.js';
import {names, samples} from '#test/apiserver/samples.js';
import {aPod, namespace} from '#test/apiserver/admission/context.js';
import {jane, startEnvironment, words} from '#test/resources/environment.js';
import {startRow} from './row.js';

type Shown = readonly [phase: Phase, attributes: AdmissionAttributes];

const shown: Shown[] = [];
const recorder: AdmissionPlugin = {
  name: 'recorder',
  admit: attributes => void shown.push(['admit', {...attributes}]),
  validate: attributes => void shown.push(['validate', {...attributes}]),
};
const env = await startEnvironment({gate: () => true, admission: () => [recorder]});
const {registry} = env.server;

const stored = [...registry.served].filter(
  ({resource: {definition}, kind}) => !definition.review && !definition.virtual && definition.kind === kind && kind.kind !== 'Namespace',
);

const versionOf = (object: Readonly<KubeObject> | undefined): string | undefined => object?.metadata?.resourceVersion;
const annotationsOf = (object: Readonly<KubeObject> | undefined) => object?.metadata?.annotations?.['step'];

for (const {kind, resource} of stored) {
  test.serial(`admission is shown the stored and the new object of every write of ${kind.group || 'core'} ${kind.plural}`, async t => {
    shown.length = 0;
    const all = samples(words, 'one');
    const name = names[kind.kind]?.['one'] ?? 'one';
    const group = words.group(kind.group);
    const sample = samples(words, name)[`${group}/${kind.kind}`] ?? samples(words, name)[kind.kind] ?? all[kind.kind] ?? {};
    const client = env.of(kind as Kind, {...jane, groups: ['system:masters']});
    const at = kind.namespaced ? {namespace} : {};
    await client.create({metadata: {name, ...at, annotations: {step: 'a'}}, ...sample} as KubeObject);
    for (const [phase, {operation, object, oldObject, subresource}] of taken(2)) {
      t.deepEqual([operation, subresource, oldObject, annotationsOf(object)], ['CREATE', '', undefined, 'a'], phase);
      t.is(object?.metadata?.name, name);
    }

    for (const subresource of ['', ...Object.keys(resource.definition.subresources ?? {})]) {
      const before = await client.get(name, at);
      const patch = {metadata: {annotations: {step: `b${subresource}`}}};
      const isRefused = await client.patch(name, 'merge', patch, {...at, ...(subresource ? {subresource} : {})}).then(
        () => false,
        () => true,
      );
      const calls = ofKind();
      if (!isRefused) t.is(calls.length, 2, subresource);
      for (const [phase, call] of calls) {
        t.deepEqual([call.operation, call.subresource, call.name, call.namespaced], ['UPDATE', subresource, name, kind.namespaced], phase);
        t.is(versionOf(call.oldObject), versionOf(before), `${phase} ${subresource}`);
        t.is(annotationsOf(call.oldObject), annotationsOf(before), `${phase} ${subresource}`);
        if (phase === 'admit' && subresource !== 'scale') t.is(annotationsOf(call.object), `b${subresource}`);
        t.not(call.object, call.oldObject as unknown);
      }
    }

    const before = await client.get(name, at);
    await client.delete(name, {...at, gracePeriodSeconds: 0});
    // The deletion of a pod is validated once more as it is stored before its end.
    const [admitted, validated, ...more] = taken(kind.plural === 'pods' ? 3 : 2);
    for (const [phase, {operation, object, oldObject}] of [admitted!, validated!])
      t.deepEqual([operation, object, versionOf(oldObject)], ['DELETE', undefined, versionOf(before)], phase);
    for (const [phase, {operation, object, oldObject}] of more)
      t.deepEqual([phase, operation, object, oldObject?.metadata?.name], ['validate', 'DELETE', undefined, name]);
    // Services also create the objects of their addresses.
    function ofKind(): Shown[] {
      return shown.splice(0).filter(([, {resource, group: of}]) => resource === kind.plural && of === group);
    }
    function taken(count: number): Shown[] {
      const calls = ofKind();
      t.is(calls.length, count);
      return calls;
    }
  });
}

const me: UserInfo = {name: 'system:node:me', groups: ['system:nodes', 'system:authenticated']};

/** The fields of metadata with a value that a node may not give itself, or may. */
const metadataFields = (): Readonly<Record<string, unknown>> => {
  const {properties} = registry.settings.schemas.of('', 'v1', 'Node')!.properties!.get('metadata')!;
  const owner = {apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x'};
  const values: Readonly<Record<string, unknown>> = {
    ownerReferences: [owner],
    labels: {'node-restriction.plat.io/secure': 'true'},
    annotations: {own: 'x'},
    finalizers: ['example.com/own'],
    managedFields: [],
    deletionGracePeriodSeconds: 1,
    generation: 77,
    deletionTimestamp: '2026-01-01T00:00:00Z',
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
  return Object.fromEntries([...properties!.keys()].map(field => [field, values[field] ?? 'forged']));
};

/** What a node may write to the metadata of its node and pods; everything else stays, through every address. */
const own = new Set(['annotations', 'finalizers', 'generateName']);

test('a node changes none of the metadata of its node and its pods but annotations and finalizers, whatever the field and the address', async t => {
  const {env: restricted, enable} = await startRow('NodeRestriction');
  await restricted.of(kinds.nodes).create({metadata: {name: 'me', labels: {kept: 'yes'}}});
  await restricted.pod({nodeName: 'me'}, {labels: {kept: 'yes'}});
  enable();
  const fields = metadataFields();
  t.true(Object.keys(fields).length >= 15);
  for (const [kind, name, subresources] of [
    [kinds.nodes, 'me', ['', 'status']],
    [kinds.pods, 'p', ['', 'status', 'ephemeralcontainers', 'resize']],
  ] as const) {
    const at = kind.namespaced ? {namespace} : {};
    const read = () => restricted.of(kind as Kind<Node | Pod>).get(name, at);
    for (const subresource of subresources) {
      for (const [field, value] of Object.entries(fields)) {
        const before = (await read()).metadata as ObjectMeta & Record<string, unknown>;
        const patch = {metadata: {[field]: value}};
        const options = {...at, ...(subresource ? {subresource} : {})};
        await restricted
          .of(kind as Kind<Node | Pod>, me)
          .patch(name, 'merge', patch, options)
          .catch(() => undefined);
        const after = (await read()).metadata as ObjectMeta & Record<string, unknown>;
        if (!own.has(field) && field !== 'managedFields' && field !== 'resourceVersion')
          t.deepEqual(after[field], before[field], `${kind.plural}/${subresource} ${field}`);
      }
    }
  }
});

test('a pod of a node is not another node’s to write, through any address', async t => {
  const {env: restricted, enable} = await startRow('NodeRestriction');
  await restricted.of(kinds.pods).create(aPod({nodeName: 'you'}));
  enable();
  for (const subresource of ['', 'status', 'ephemeralcontainers', 'resize']) {
    const before = await restricted.of(kinds.pods).get('p', {namespace});
    const options = {namespace, ...(subresource ? {subresource} : {})};
    await t.throwsAsync(
      restricted.of(kinds.pods, me).patch('p', 'merge', {metadata: {annotations: {a: 'b'}}}, options),
      undefined,
      subresource,
    );
    t.deepEqual(await restricted.of(kinds.pods).get('p', {namespace}), before);
  }
});
