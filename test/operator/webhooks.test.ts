import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {
  converting,
  customKind,
  defaulting,
  forbidden,
  invalid,
  isNotFound,
  validating,
  webhookConfigurations,
  type KubeObject,
} from '#src/operator/index.js';
import {CustomResourceDefinition, ValidatingWebhookConfiguration} from '#src/operator/kinds.js';
import {aPlane} from './webhooks-plane.js';

interface Backup extends KubeObject {
  spec: {keep?: number; bucket?: string; retention?: {last: number}};
}
const v1 = customKind<Backup>({group: 'example.com', version: 'v1', kind: 'Backup', plural: 'backups'});
const v2 = customKind<Backup>({group: 'example.com', version: 'v2', kind: 'Backup', plural: 'backups'});

const anyObject = {openAPIV3Schema: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true}};
const definition = (conversion?: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {name: 'backups.example.com'},
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: {kind: 'Backup', plural: 'backups', singular: 'backup'},
    versions: [
      {name: 'v1', served: true, storage: !conversion, schema: anyObject},
      ...(conversion ? [{name: 'v2', served: true, storage: true, schema: anyObject}] : []),
    ],
    ...(conversion ? {conversion} : {}),
  },
});

test('objects get defaults and are validated, and the CA in the configurations is kept', async t => {
  const handlers = [
    defaulting(v1, ({spec}) => void (spec.keep ??= 7)),
    validating(
      v1,
      function* ({object, oldObject, request}) {
        if (request.operation === 'DELETE') {
          if (oldObject!.spec.bucket === 'kept') yield forbidden('spec.bucket', 'kept backups stay');
          return;
        }
        if (object!.spec.keep! > 100) yield invalid('spec.keep', object!.spec.keep, 'at most 100 are kept');
        if (oldObject && oldObject.spec.bucket !== object!.spec.bucket) yield forbidden('spec.bucket', 'it cannot be changed');
      },
      {operations: ['CREATE', 'UPDATE', 'DELETE']},
    ),
  ];
  const {clock, plane, client, url} = await aPlane(t, handlers, new VirtualClock());
  await plane.apply([definition(), ...webhookConfigurations({name: 'backups', handlers, url})]);
  await clock.drain();
  const backups = client.resource(v1);

  const made = await backups.create({metadata: {name: 'one', namespace: 'default'}, spec: {bucket: 'kept'}});
  t.is(made.spec.keep, 7);
  const refusal = await t.throwsAsync(backups.create({metadata: {name: 'two', namespace: 'default'}, spec: {keep: 101}}));
  t.regex(
    refusal!.message,
    /denied the request: Backup\.example\.com "two" is invalid: spec\.keep: Invalid value: 101: at most 100 are kept/,
  );
  await t.throwsAsync(backups.update({...made, spec: {bucket: 'other'}}), {message: /spec\.bucket: Forbidden: it cannot be changed/});
  await t.throwsAsync(backups.delete('one', {namespace: 'default'}), {message: /kept backups stay/});

  const configurations = client.resource(ValidatingWebhookConfiguration);
  const kept = await configurations.get('backups');
  t.truthy(kept.webhooks![0]!.clientConfig.caBundle);
  const {caBundle: _, ...without} = kept.webhooks![0]!.clientConfig;
  await configurations.update({...kept, webhooks: [{...kept.webhooks![0]!, clientConfig: without}]});
  await clock.drain();
  t.is((await configurations.get('backups')).webhooks![0]!.clientConfig.caBundle, kept.webhooks![0]!.clientConfig.caBundle);
});

test('versions are converted to and from the hub, and a conversion that fails says why', async t => {
  const conversion = converting(v2, {
    hub: 'v2',
    versions: {
      v1: {
        toHub(backup) {
          const {spec} = backup as Backup;
          if (spec.keep === 13) throw new Error('13 cannot be converted');
          return {...backup, spec: {retention: {last: spec.keep ?? 7}}} as Backup;
        },
        fromHub: backup =>
          ({...backup, spec: {keep: (backup as Backup).spec.retention?.last}, metadata: {name: 'ignored', labels: {old: 'yes'}}}) as Backup,
      },
    },
  });
  const {clock, plane, client, url} = await aPlane(t, [conversion], new VirtualClock());
  const webhook = {conversionReviewVersions: ['v1'], clientConfig: {url: `${url}/convert`}};
  await plane.apply(definition({strategy: 'Webhook', webhook}));
  await clock.drain();
  t.truthy((await client.resource(CustomResourceDefinition).get('backups.example.com')).spec.conversion?.webhook?.clientConfig?.caBundle);

  await client.resource(v1).create({metadata: {name: 'one', namespace: 'default', annotations: {a: 'b'}}, spec: {keep: 3}});
  const stored = await client.resource(v2).get('one', {namespace: 'default'});
  t.deepEqual([stored.spec, stored.metadata?.annotations], [{retention: {last: 3}}, {a: 'b'}]);
  const read = await client.resource(v1).get('one', {namespace: 'default'});
  t.deepEqual([read.spec, read.metadata?.name, read.metadata?.labels], [{keep: 3}, 'one', {old: 'yes'}]);
  await t.throwsAsync(client.resource(v1).create({metadata: {name: 'bad', namespace: 'default'}, spec: {keep: 13}}), {
    message: /13 cannot be converted/,
  });
  t.true(
    isNotFound(
      await client
        .resource(v2)
        .get('bad', {namespace: 'default'})
        .catch((error: unknown) => error),
    ),
  );
});

test('a webhook that does not answer in the time of its configuration refuses or lets pass, as its failure policy says', async t => {
  const silent = validating(v1, ({object}) => (object!.spec.bucket === 'silent' ? new Promise<never>(() => {}) : []));
  // Calls of webhooks hold a virtual clock.
  const {plane, client, url} = await aPlane(t, [silent], systemClock);
  await plane.apply(definition());
  const backups = client.resource(v1);
  const backup = (name: string, bucket: string) => ({metadata: {name, namespace: 'default'}, spec: {bucket}});
  const configured = async (failurePolicy: 'Fail' | 'Ignore', isInEffect: () => Promise<boolean>) => {
    await plane.apply(webhookConfigurations({name: 'backups', handlers: [silent], url, failurePolicy, timeoutSeconds: 1}));
    while (!(await isInEffect())) await new Promise(resolve => setTimeout(resolve, 50));
  };
  const outcomeOf = (name: string, bucket = 'silent') =>
    backups.create(backup(name, bucket)).then(
      () => 'created',
      (error: Error) => error.message,
    );

  const configurations = client.resource(ValidatingWebhookConfiguration);
  await configured('Fail', async () => Boolean((await configurations.get('backups')).webhooks![0]!.clientConfig.caBundle));
  await configured('Fail', async () => (await outcomeOf('refused')).includes('context deadline exceeded'));
  t.is(
    await outcomeOf('refused'),
    `Internal error occurred: failed calling webhook "backups.backups.validating.example.com": failed to call webhook: Post "${url}/validate-example-com-v1-backup?timeout=1s": context deadline exceeded`,
  );
  await configured('Ignore', async () => (await outcomeOf('passed')) === 'created');
  t.is(await outcomeOf('other', 'loud'), 'created');
});
