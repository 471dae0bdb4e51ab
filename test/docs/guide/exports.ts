// The examples of docs/operator-reference.md and docs/operator-from.md.
import {
  AnyKind,
  againAfter,
  allOf,
  annotationsChanged,
  anyOf,
  conditionOf,
  copyOf,
  createClient,
  createManager,
  customKind,
  defineController,
  duplicate,
  durationOf,
  Expected,
  generationChanged,
  isAlreadyExists,
  isConditionTrue,
  isConflict,
  isForbidden,
  isNotFound,
  keyOf,
  keyText,
  labelsChanged,
  mapped,
  matching,
  not,
  notSupported,
  on,
  removeCondition,
  required,
  resourceVersionChanged,
  selection,
  setCondition,
  StatusError,
  Terminal,
  tooLong,
  tooMany,
  validating,
  warning,
  webhookKubeconfig,
  type Caches,
  type Client,
  type Condition,
  type Configuration,
  type Duration,
  type Findings,
  type Frozen,
  type KubeObject,
  type NewObject,
  type Predicate,
  type ReconcileContext,
  type StatusChange,
  type Stored,
  type StoredList,
  type Written,
} from '@platio/plat/operator';
import {ConfigMap, Deployment, Job, Pod, Secret} from '@platio/plat/operator/kinds';
import type {tokens} from './access-webhooks.js';

interface Site extends KubeObject {
  spec: {title: string; tags?: string[]; size?: string};
  status?: {phase?: string; conditions?: Condition[]};
}
const Site = customKind<Site, 'Site'>({group: 'example.com', version: 'v1', kind: 'Site', plural: 'sites'});

/** Changes that concern the spec or a label, of sites that are not paused. */
const relevant: Predicate<Site> = allOf(
  anyOf(generationChanged, labelsChanged, annotationsChanged),
  not(matching<Site>(({metadata}) => metadata.annotations?.['example.com/paused'] === 'true')),
);

export const sites = defineController({
  name: 'sites',
  for: Site,
  when: relevant,
  owns: [Deployment],
  watches: [mapped(selection(Secret, {labelSelector: 'example.com/site'}), secret => [secret], {when: resourceVersionChanged})],
  async reconcile(context) {
    const {object: site, client, events} = context;
    if (!site) return;
    const {outcome, object}: Written<Deployment> = await client.apply(Deployment, deploymentOf(site));
    if (outcome === 'created') events.normal(site, 'Created', `made ${object.metadata.name}`);
    if (!isConditionTrue(object, 'Available')) return againAfter('10s');
    return published(context);
  },
});

/** What a site deploys: any part of a Deployment. */
const deploymentOf = ({metadata, spec}: Stored<Site>): Configuration<Deployment> => ({
  metadata: {name: metadata.name, namespace: metadata.namespace, annotations: {title: spec.title}},
  spec: {replicas: 2},
});

/** A part of a reconcile, which says which kinds it reads. */
const published = async ({object, client, caches}: ReconcileContext<Site, typeof Site | typeof Deployment>) => {
  const settled: StatusChange<Site> = status => {
    status.phase = caches.list(Deployment).length > 0 ? 'Published' : 'Pending';
  };
  await client.status(object!, settled, setCondition('Ready', 'True', 'Published'), removeCondition('Failed'));
};

/** How long ago a site became ready. */
export const readyFor = (site: Stored<Site>, now: number): number => now - Date.parse(conditionOf(site, 'Ready')?.lastTransitionTime ?? '');

/** Renames in a copy: what caches hold is shared. */
export const renamed = (site: Stored<Site>, title: string): Site => {
  const copy = copyOf<Site>(site);
  copy.spec.title = title;
  return copy;
};

/** The jobs that run, by their keys. */
export const running = (caches: Caches<typeof Job>): readonly string[] =>
  caches
    .list(Job)
    .filter(({status}) => status?.active)
    .map(job => keyText(keyOf(job)));

/** Creates a map once, whoever does it first. */
export const ensured = async (client: Client, map: NewObject<ConfigMap>): Promise<boolean> => {
  try {
    await client.create(ConfigMap, map, {fieldValidation: 'Strict'});
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    if (isForbidden(error)) throw new Terminal('the operator has no right to create config maps', {cause: error});
    if (isConflict(error) || isNotFound(error)) throw new Expected('the namespace is not there yet', {cause: error});
    throw error instanceof StatusError ? new Error(`refused with ${error.code}`, {cause: error}) : error;
  }
};

/** A setting such as `1m30s`, which the compiler does not know. */
export const periodOf = (setting = '10s'): Duration => durationOf(setting);

/** Deletes finished pods, one page after another. */
export const swept = async (client: Client): Promise<void> => {
  const {items}: StoredList<Pod> = await client.list(Pod, {fieldSelector: 'status.phase=Succeeded', limit: 500});
  for (const pod of items) await client.delete(pod, {propagationPolicy: 'Background'});
};

/** Evicts a pod, as a drain does. */
export const evicted = ({metadata}: Stored<Pod>, client: Client) =>
  client.create(Pod, {apiVersion: 'policy/v1', kind: 'Eviction', metadata}, {subresource: 'eviction', of: metadata});

export const siteRules = validating(Site, ({object}): Findings => siteFindings(object!));

const siteFindings = function* ({metadata, spec: {title, tags = [], size = 'small'}}: Frozen<Site>) {
  if (!title) yield required('spec.title', 'every site has one');
  if (title.length > 100) yield tooLong('spec.title', 100);
  if (tags.length > 5) yield tooMany('spec.tags', tags.length, 5);
  for (const [at, tag] of tags.entries()) if (tags.indexOf(tag) < at) yield duplicate(`spec.tags[${at}]`, tag);
  if (!['small', 'large'].includes(size)) yield notSupported('spec.size', size, ['small', 'large']);
  if (metadata?.name?.startsWith('test-')) yield warning('names of sites should not begin with test-');
};

/** Keeps a config map with the title of each site. */
export const titles = defineController({
  name: 'titles',
  for: Site,
  owns: [ConfigMap],
  async reconcile({key, object: site, client, events}) {
    if (!site) return;
    const {outcome} = await client.apply(ConfigMap, {metadata: key, data: {title: site.spec.title}});
    if (outcome === 'created') events.normal(site, 'Created', `made ${key.name}`);
    await client.status(site, setCondition('Ready', 'True', 'Applied'));
  },
});

/** Warns of every object without a team, wherever it is. */
export const teams = validating(
  AnyKind,
  function* ({object}) {
    if (!object?.metadata?.labels?.['team']) yield warning('whose is it? set the label team');
  },
  {failurePolicy: 'Ignore'},
);

/** The file for --authentication-token-webhook-config-file. */
export const kubeconfigOf = (handler: typeof tokens, certificateAuthority: string): string =>
  webhookKubeconfig(handler, {url: 'https://localhost:9443', certificateAuthority});

/** A controller in a hub that keeps a secret in each of two other clusters. */
export const spread = defineController({
  name: 'spread',
  for: Site,
  watches: ['east', 'west'].map(cluster => mapped(on(cluster, Secret), secret => [secret])),
  async reconcile({key, object, client}) {
    for (const cluster of ['east', 'west'])
      if (object) await client.cluster(cluster).apply(Secret, {metadata: key, stringData: {title: object.spec.title}});
      else await client.cluster(cluster).delete(Secret, key);
  },
});

export const inThreeClusters = async (signal: AbortSignal) => {
  await using hub = await createClient();
  await using east = await createClient({kubeconfig: 'east.yaml'});
  await using west = await createClient({kubeconfig: 'west.yaml', impersonate: {user: 'system:serviceaccount:sites:spread'}});
  return await createManager({controllers: [spread], client: hub, clusters: {east, west}}).run(signal);
};
