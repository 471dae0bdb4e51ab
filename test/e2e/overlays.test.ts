import {readdirSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {parseAllDocuments} from 'yaml';
import {kinds} from '#src/api/kinds/index.js';
import type {PodTemplateSpec} from '#src/api/pod.js';
import type {ClusterRoleBinding, KubeObject} from '#src/api/types.js';
import {controllers} from '#controllers/index.js';
import {eventually} from '#test/cli/eventually.js';
import {aServer, Program} from '#test/cli/programs.js';
import {accountSettings} from './account-settings.js';
import {hasKubectl, Kubectl} from './kubectl.js';

const withKubectl = hasKubectl(25) ? test : test.skip;
const overlays = readdirSync('manifests/overlays');

/** The objects of an overlay, and the arguments of its manager. */
const render = async (overlay: string) => {
  using kubectl = new Kubectl('/dev/null');
  const text = await kubectl.ok(`kustomize ${join(process.cwd(), 'manifests/overlays', overlay)}`);
  const objects = parseAllDocuments(text).map(document => document.toJS() as KubeObject);
  const {spec} = objects.find(({kind}) => kind === 'Deployment') as unknown as {spec: {template: PodTemplateSpec}};
  const {args = []} = spec.template.spec!.containers[0]!;
  return {objects, args, pod: spec.template.spec!};
};

const known = new Map<string, ReturnType<typeof render>>();
const rendered = (overlay: string) => {
  if (!known.has(overlay)) known.set(overlay, render(overlay));
  return known.get(overlay)!;
};

for (const overlay of overlays)
  withKubectl(`the overlay ${overlay} grants exactly the roles of its controllers, and needs no key pair`, async t => {
    const {objects, args, pod} = await rendered(overlay);
    const names = args
      .find(arg => arg.startsWith('--controllers='))!
      .slice('--controllers='.length)
      .split(',');
    const roles = objects.filter(({kind}) => kind === 'ClusterRoleBinding').map(object => (object as ClusterRoleBinding).roleRef.name);

    t.deepEqual(
      roles.filter(role => role.startsWith('system:controller:')).sort(),
      names.map(name => `system:controller:${controllers.find(controller => controller.name === name)!.serviceAccount}`).sort(),
    );
    t.deepEqual(
      roles.filter(role => !role.startsWith('system:controller:')),
      ['system:auth-delegator'],
    );
    t.deepEqual(
      objects.filter(({kind}) => kind === 'ClusterRole'),
      [],
    );
    t.is(pod.volumes, undefined);
    t.false(args.some(arg => arg.includes('/etc/plat')));
  });

/** Starts the manager of an overlay with the arguments of its deployment and the token of its account. */
const startOverlay = async (overlay: string) => {
  const server = await aServer('kubernetes');
  const kubectl = new Kubectl(server.settings);
  await kubectl.ok(`apply --validate=strict -k ${join(process.cwd(), 'manifests/overlays', overlay)}`);
  const {args} = await rendered(overlay);
  const settings = await accountSettings(server, kubectl);
  const own = args.map(arg => arg.replace('--secure-port=10257', '--secure-port=0').replace('0.0.0.0', '127.0.0.1'));
  const manager = new Program('plat-controller-manager', [...own, `--platconfig=${settings}`]);
  await manager.waitFor(/ready: \d+ controllers/);
  const dispose = async (): Promise<void> => {
    kubectl[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
  };
  return {server, manager, [Symbol.asyncDispose]: dispose};
};

const template = {spec: {restartPolicy: 'Never', containers: [{name: 'c', image: 'busybox'}]}};

withKubectl('the manager of the overlay cleanup deletes finished jobs', async t => {
  await using started = await startOverlay('cleanup');
  const {server, manager} = started;
  const jobs = server.client.resource(kinds.jobs);
  const at = '2026-01-01T00:00:00Z';
  const job = await jobs.create({metadata: {name: 'done', namespace: 'default'}, spec: {ttlSecondsAfterFinished: 0, template}});
  await jobs.update(
    {
      ...job,
      status: {
        startTime: at,
        completionTime: at,
        succeeded: 1,
        uncountedTerminatedPods: {},
        conditions: ['SuccessCriteriaMet', 'Complete'].map(type => ({type, status: 'True', lastTransitionTime: at, lastProbeTime: at})),
      },
    },
    {subresource: 'status'},
  );

  // The cluster's garbage collector, which the overlay leaves out, removes it after its dependents.
  const {finalizers} = await eventually(async () => {
    const {metadata} = await jobs.get('done', {namespace: 'default'});
    return metadata?.deletionTimestamp ? metadata : undefined;
  });
  t.deepEqual(finalizers, ['foregroundDeletion']);
  t.notRegex((await manager.stop()).stderr, /forbidden/);
});

withKubectl('the manager of the overlay workloads makes the pods of a job and of a deployment', async t => {
  await using started = await startOverlay('workloads');
  const {server, manager} = started;
  const {client} = server;
  await client.resource(kinds.serviceAccounts).create({metadata: {name: 'default', namespace: 'default'}});
  await client.resource(kinds.jobs).create({metadata: {name: 'job', namespace: 'default'}, spec: {template}});
  const labels = {app: 'web'};
  await client.resource(kinds.deployments).create({
    metadata: {name: 'web', namespace: 'default'},
    spec: {selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers: template.spec.containers}}},
  });
  const owners = await eventually(async () => {
    const {items} = await client.resource(kinds.pods).list({namespace: 'default'});
    return items.length === 2 ? items.map(({metadata}) => metadata!.ownerReferences![0]!.kind).sort() : undefined;
  });

  t.deepEqual(owners, ['Job', 'ReplicaSet']);
  t.notRegex((await manager.stop()).stderr, /forbidden/);
});
