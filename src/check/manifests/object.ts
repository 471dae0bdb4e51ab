// Checks one object of the files: what is known of it without the server, what the server says, and what it says of the
// pods that a workload would make.

import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {sameJson} from '#src/api/equal.js';
import {StatusError} from '#src/api/status.js';
import {inNamespace} from '#src/client/in-namespace.js';
import type {CustomVersion} from '#src/resources/custom/family.js';
import type {Manifest} from '#src/check/files/manifest.js';
import type {Finding} from '#src/check/findings/finding.js';
import type {Rule} from '#src/check/findings/rules.js';
import type {CheckedCluster, Looked} from './cluster.js';
import {dryRun} from './dry-run.js';
import {checkBuiltin, checkCustom, type LocalParts} from './local.js';
import type {Demand} from './quotas.js';
import {refusalFindings, warningFinding} from './refusals.js';
import {podOf, workloadPods, type WorkloadPods} from './workloads.js';

/** An object whose kind is known. */
export interface Placed {
  readonly manifest: Manifest;
  readonly kind: Kind;
  /** By what the files define its kind; undefined for kinds that the files do not define. */
  readonly defined: CustomVersion | undefined;
  /** Whether the cluster serves the kind now. */
  readonly isServed: boolean;
  /** Where its namespace is: `files` if these create it. */
  readonly namespace: 'cluster' | 'files' | 'nowhere';
}

export interface ObjectParts extends LocalParts {
  readonly cluster: CheckedCluster;
  readonly fieldManager: string;
  /** Whether the files hold an object, which others may need. */
  holds(kind: Kind, namespace: string | undefined, name: string): boolean;
}

/** What was found about an object, and what it asks of quotas. */
export interface Checked {
  readonly findings: readonly Finding[];
  readonly demands: readonly Demand[];
}

/** What the local rules tell, if they are asked. */
const localRules: ReadonlySet<Rule> = new Set(['invalid', 'unknown-field', 'repeated-field']);

/** Checks an object in all ways that are possible. */
export const checkObject = async (placed: Placed, parts: ObjectParts): Promise<Checked> => {
  const {manifest, kind, defined, isServed, namespace} = placed;
  const {cluster} = parts;
  const found: Finding[] = [];
  if (namespace === 'nowhere')
    found.push(
      manifest.finding('namespace', `the namespace ${manifest.namespace} is neither in the cluster nor in these files`, {
        field: 'metadata.namespace',
      }),
    );
  const name = manifest.object.metadata.name;
  const stored: Looked = isServed && namespace === 'cluster' && name ? await cluster.look(kind, name, manifest.namespace) : {is: 'absent'};
  found.push(...(await rightsFindings(placed, stored, cluster)));
  const mayWrite = !found.some(({rule}) => rule === 'rights');
  const asks = isServed && namespace === 'cluster' && mayWrite;
  const local = asks && !defined ? undefined : await localResult(placed, parts);
  if (local) found.push(...local.findings);
  if (!asks) {
    const pods = local?.object && workloadPods(kind, local.object);
    return {
      findings: [...found, ...(mayWrite ? [notAsked(placed, local !== undefined)] : [])],
      demands: demandsOf(placed, local?.object, pods, stored),
    };
  }
  const run = await dryRun(manifest, kind, {client: cluster.client, isThere: stored.is !== 'absent', fieldManager: parts.fieldManager});
  found.push(...run.findings.filter(({rule}) => !(local && localRules.has(rule))));
  // What was refused for one reason may have others.
  const object = run.object ?? manifest.object;
  const pods = workloadPods(kind, object);
  const pod = pods && (await podRun(placed, pods, object, parts));
  return {findings: [...found, ...(pod?.findings ?? [])], demands: demandsOf(placed, object, pods, stored, pod?.object)};
};

const localResult = ({manifest, kind, defined}: Placed, parts: ObjectParts) =>
  defined ? checkCustom(manifest, defined, parts) : checkBuiltin(manifest, kind, parts);

/** Says why the server was not asked about an object that the user may write. */
const notAsked = ({manifest, isServed, namespace}: Placed, isLocal: boolean): Finding => {
  const why = !isServed
    ? 'the definition of its kind is not in the cluster yet'
    : `its namespace is ${namespace === 'files' ? 'not in the cluster yet' : 'missing'}`;
  const how = isLocal ? 'checked by its schema and rules only, not by policies and webhooks' : 'not checked further';
  return manifest.finding('not-checked', `${how}, since ${why}`);
};

const rightsFindings = async ({manifest, kind, isServed}: Placed, stored: Looked, cluster: CheckedCluster): Promise<Finding[]> => {
  if (!isServed) return [];
  const name = manifest.object.metadata.name;
  const verbs = stored.is === 'there' ? ['patch'] : stored.is === 'absent' ? ['create'] : ['create', 'patch'];
  const {namespace} = manifest;
  const missing = [];
  for (const verb of verbs)
    if (!(await cluster.may({verb, kind, namespace: kind.namespaced ? namespace : undefined, ...(verb === 'patch' ? {name} : {})})))
      missing.push(verb);
  const where = kind.namespaced ? ` in the namespace ${namespace}` : '';
  return missing.length > 0 ? [manifest.finding('rights', `you may not ${missing.join(' and ')} ${kind.plural}${where}`)] : [];
};

/** Sends a pod of a workload's template as a dry run, if the user may create pods. */
const podRun = async (
  {manifest}: Placed,
  pods: WorkloadPods,
  workload: KubeObject,
  {cluster, holds}: ObjectParts,
): Promise<{readonly findings: readonly Finding[]; readonly object?: KubeObject}> => {
  const {namespace} = manifest;
  if (!(await cluster.may({verb: 'create', kind: kinds.pods, namespace})))
    return {findings: [manifest.finding('not-checked', 'its pods were not checked: you may not create pods', {field: pods.path})]};
  const pod = podOf(pods, {metadata: {...workload.metadata, ...inNamespace(namespace)}});
  const account = pod.spec?.serviceAccountName || 'default';
  const priority = pod.spec?.priorityClassName;
  if (holds(kinds.serviceAccounts, namespace, account) || (priority && holds(kinds.priorityClasses, undefined, priority))) {
    const isMissing =
      (await cluster.look(kinds.serviceAccounts, account, namespace)).is === 'absent' ||
      (priority !== undefined && (await cluster.look(kinds.priorityClasses, priority)).is === 'absent');
    if (isMissing) {
      const text = 'its pods were not checked: their service account or priority class is in these files and not in the cluster yet';
      return {findings: [manifest.finding('not-checked', text, {field: pods.path})]};
    }
  }
  const warnings = new Set<string>();
  const options = {...inNamespace(namespace), dryRun: true, onWarning: (text: string) => void warnings.add(text)};
  const told = (): Finding[] => [...warnings].map(text => warningFinding(manifest, text, pods.path));
  try {
    const object = await cluster.client.resource(kinds.pods).create(pod, options);
    return {findings: told(), object};
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return {findings: [...refusalFindings(manifest, error, pods.path), ...told()]};
  }
};

/** What an object, its pods and their claims ask of quotas. `pod` is one of them as the server would store it. */
const demandsOf = (
  {manifest, kind, isServed}: Placed,
  object: KubeObject | undefined,
  pods: WorkloadPods | undefined,
  stored: Looked,
  pod?: KubeObject,
): Demand[] => {
  if (!object || !isServed) return [];
  const own = stored.is === 'there' ? {object: stored.object, count: 1} : undefined;
  const demands: Demand[] = [{manifest, kind, object, count: 1, before: own, field: ''}];
  if (!pods || pods.count === 0) return demands;
  const old = own && workloadPods(kind, own.object);
  const now = pod ?? podOf(pods, object);
  const before = old && {object: sameJson(old.template, pods.template) ? now : podOf(old, own.object), count: old.count};
  demands.push({
    manifest,
    kind: kinds.pods,
    object: now,
    count: pods.count,
    before,
    field: kind.kind === 'Job' ? 'spec.parallelism' : 'spec.replicas',
  });
  for (const claim of pods.claims)
    demands.push({
      manifest,
      kind: kinds.persistentVolumeClaims,
      object: claim,
      count: pods.count,
      before: old && {object: claim, count: Math.min(old.count, pods.count)},
      field: 'spec.volumeClaimTemplates',
    });
  return demands;
};
