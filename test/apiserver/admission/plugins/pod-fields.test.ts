import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import type {UserInfo} from '#src/api/user.js';
import type {ReviewWebhook} from '#src/apiserver/backends/review-webhook.js';
import {refusal} from '#test/resources/environment.js';
import {aPod, namespace} from '#test/apiserver/admission/context.js';
import {fieldsOf, holds, specWith, textOf, type FieldPath, type PodField} from './pod-fields.js';
import {startRow, type Env} from './row.js';

const schemaEnv = await startRow('AlwaysAdmit');
const {registry} = schemaEnv.env.server;
const fields: readonly PodField[] = [...fieldsOf(registry.settings.schemas.of('', 'v1', 'Pod')!.properties!.get('spec')!)];
const paths = (isWanted: (field: PodField) => boolean): readonly FieldPath[] => fields.filter(isWanted).map(({path}) => path);

const last = (path: FieldPath) => path.at(-1);
const isIn = (types: readonly string[], ...wanted: readonly string[]) => wanted.some(name => types.includes(name));
/**
 * Names of secrets: in the types that refer to one, in fields that say so, and in references to objects of a namespace
 * in such fields.
 */
const secretPaths = paths(
  ({path, types}) =>
    (last(path) === 'name' &&
      (isIn(types, 'SecretKeySelector', 'SecretEnvSource', 'SecretProjection', 'SecretReference') ||
        (types.at(-1) === 'LocalObjectReference' && /secret/i.test(textOf(path))))) ||
    last(path) === 'secretName',
);
const configMapPaths = paths(({path, types}) => last(path) === 'name' && types.at(-1)!.startsWith('ConfigMap'));
const imagePaths = paths(
  ({path, types}) => last(path) === 'image' || (types.at(-1) === 'ImageVolumeSource' && last(path) === 'reference'),
).filter(
  // Images of block devices are no images of containers.
  path => !['rbd'].includes(String(path.at(-2))),
);
const updatable = ['', ...Object.keys(registry.of(kinds.pods).definition.subresources ?? {})];

test('the schema of pods has these fields with images, secrets and config maps', t => {
  t.deepEqual(imagePaths.map(textOf).sort(), [
    'containers.image',
    'ephemeralContainers.image',
    'initContainers.image',
    'volumes.image.reference',
  ]);
  t.is(secretPaths.length, 18);
  t.deepEqual(
    configMapPaths
      .map(textOf)
      .filter(path => path.startsWith('volumes'))
      .sort(),
    ['volumes.configMap.name', 'volumes.projected.sources.configMap.name'],
  );
  t.deepEqual(updatable.sort(), ['', 'ephemeralcontainers', 'resize', 'status']);
});

const me: UserInfo = {name: 'system:node:me', groups: ['system:nodes', 'system:authenticated']};
const mirror = (spec: object, uid: string): Pod =>
  aPod(
    {...(spec as PodSpec), nodeName: 'me'},
    {
      annotations: {'plat.io/config.mirror': 'x'},
      ownerReferences: [{apiVersion: 'v1', kind: 'Node', name: 'me', uid, controller: true}],
    },
  );

test('a node creates no mirror pod that names a secret or a config map in any field', async t => {
  const {env, enable} = await startRow('NodeRestriction');
  const {uid = ''} = (await env.of(kinds.nodes).create({metadata: {name: 'me'}})).metadata!;
  enable();
  for (const [what, all] of [
    ['secrets', secretPaths],
    ['configmaps', configMapPaths],
  ] as const) {
    for (const path of all) {
      const {message} = await refusal(env.of(kinds.pods, me).create(mirror(specWith(path, 'stolen'), uid)));
      t.is(message, `pods "p" is forbidden: node "me" can not create pods that reference ${what}`, textOf(path));
    }
  }
});

test('the service account plugin admits no mirror pod that names a secret in any field', async t => {
  const {env, enable} = await startRow('ServiceAccount');
  enable();
  for (const path of secretPaths)
    t.is(
      (await refusal(env.of(kinds.pods).create(mirror(specWith(path, 'stolen'), 'u')))).message,
      'pods "p" is forbidden: a mirror pod may not reference secrets',
    );
});

/** The fields that the annotation of a service account covers; the original covers no more. */
const enforced = ['env.valueFrom.secretKeyRef.name', 'envFrom.secretRef.name'];
const isEnforced = (path: FieldPath): boolean =>
  ['volumes.secret.secretName', 'imagePullSecrets.name'].includes(textOf(path)) || enforced.some(end => textOf(path).endsWith(end));

test('an account that enforces its secrets covers volumes, variables and pull secrets of every sort of container', async t => {
  const {env, enable} = await startRow('ServiceAccount');
  await env
    .of(kinds.serviceAccounts)
    .create({metadata: {name: 'default', namespace, annotations: {'plat.io/enforce-mountable-secrets': 'true'}}});
  enable();
  const covered = secretPaths.filter(isEnforced);
  t.is(covered.length, 8);
  await env.pod();
  for (const path of covered) {
    const spec = specWith(path, 'stolen');
    const act = spec['ephemeralContainers']
      ? env
          .of(kinds.pods)
          .patch(
            'p',
            'strategic',
            {spec: {ephemeralContainers: spec['ephemeralContainers']}},
            {namespace, subresource: 'ephemeralcontainers'},
          )
      : env.of(kinds.pods).create(aPod(spec as unknown as PodSpec, {name: 'q'}));
    t.regex((await refusal(act)).message ?? '', /not allowed because service account default does not reference that/, textOf(path));
  }
});

/**
 * Tries to write a value to a field, by creation and through every address of an existing pod, and returns the pods
 * that hold it.
 */
const tryEverywhere = async ({of}: Env, path: FieldPath, value: string): Promise<readonly [address: string, pod: Readonly<Pod>][]> => {
  const pods = of(kinds.pods);
  const spec = specWith(path, value);
  const found: [string, Readonly<Pod>][] = [];
  const collect = async (address: string, name: string): Promise<void> => {
    const pod = await pods.get(name, {namespace}).catch(() => undefined);
    if (pod && holds(pod, value)) found.push([address, pod]);
    if (pod) await pods.delete(name, {namespace, gracePeriodSeconds: 0});
  };
  await pods.create(aPod(spec as unknown as PodSpec, {name: 'new'})).catch(() => undefined);
  await collect('create', 'new');
  for (const subresource of updatable) {
    await pods.create(aPod({containers: [{name: 'c', image: 'good'}], initContainers: [{name: 'i', image: 'good'}]}, {name: 'old'}));
    const options = {namespace, ...(subresource ? {subresource} : {})};
    for (const type of ['strategic', 'merge'] as const) await pods.patch('old', type, {spec}, options).catch(() => undefined);
    await collect(subresource, 'old');
  }
  return found;
};

test('no image of a container is stored that the image policy was not asked about, whatever the field and the address', async t => {
  const reviewed = new Set<string>();
  const webhook: Pick<ReviewWebhook, 'post'> = {
    async post(review, read) {
      for (const {image} of (review as {spec: {containers: {image: string}[]}}).spec.containers) reviewed.add(image);
      return read({status: {allowed: true}});
    },
  };
  const {env, enable} = await startRow('ImagePolicyWebhook', {imageReviews: {webhook, allowTtlMs: 0, denyTtlMs: 0, defaultAllow: false}});
  enable();
  const stored: string[] = [];
  for (const path of imagePaths) {
    const found = await tryEverywhere(env, path, 'seen:1');
    stored.push(...found.map(([address]) => `${textOf(path)} ${address}`));
    // Reviews have no images of volumes, in the original neither.
    if (found.length > 0) t.is(reviewed.has('seen:1'), textOf(path) !== 'volumes.image.reference', textOf(path));
    reviewed.clear();
  }
  t.deepEqual(stored.sort(), [
    'containers.image ',
    'containers.image create',
    'ephemeralContainers.image ephemeralcontainers',
    'initContainers.image ',
    'initContainers.image create',
    'volumes.image.reference create',
  ]);
});

test('an image that the policy refuses is stored in no field, through no address', async t => {
  const webhook: Pick<ReviewWebhook, 'post'> = {
    async post(review, read) {
      return read({status: {allowed: !JSON.stringify(review).includes('evil')}});
    },
  };
  const {env, enable} = await startRow('ImagePolicyWebhook', {imageReviews: {webhook, allowTtlMs: 0, denyTtlMs: 0, defaultAllow: false}});
  enable();
  for (const path of imagePaths.filter(path => textOf(path) !== 'volumes.image.reference'))
    t.deepEqual(await tryEverywhere(env, path, 'evil'), [], textOf(path));
});

test('all images are pulled always, whatever the field', async t => {
  const {env, enable} = await startRow('AlwaysPullImages');
  enable();
  for (const path of imagePaths.filter(path => !textOf(path).startsWith('ephemeral'))) {
    const {spec} = await env.pod(specWith(path, 'new:1') as unknown as PodSpec, {name: textOf(path).toLowerCase()});
    const policies = [
      ...[...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].map(({imagePullPolicy}) => imagePullPolicy),
      ...(spec?.volumes ?? []).flatMap(({image}) => (image ? [image.pullPolicy] : [])),
    ];
    t.true(policies.length > 0 && policies.every(policy => policy === 'Always'), textOf(path));
  }
});

test('no toleration is stored that the restriction does not allow, through any address', async t => {
  const tolerations = paths(({path, types}) => types.at(-1) === 'Toleration' && last(path) === 'key');
  t.deepEqual(tolerations.map(textOf), ['tolerations.key']);
  const {env, enable} = await startRow('PodTolerationRestriction', {
    tolerations: {given: [], allowed: [{key: 'allowed', operator: 'Exists'}]},
  });
  enable();
  t.deepEqual(await tryEverywhere(env, tolerations[0]!, 'evil'), []);
  t.deepEqual(
    (await tryEverywhere(env, tolerations[0]!, 'allowed')).map(([address]) => address),
    ['create', ''],
  );
});
