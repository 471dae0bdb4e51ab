// What would happen if files were applied: every object is judged on its own, all of them together by quotas, and
// definitions by the objects that are stored. Nothing is written: writes are dry runs.

import {apiVersionOf, kinds, type Kind} from '#src/api/kinds/index.js';
import {isForbidden} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {listAll} from '#src/client/pages.js';
import type {CustomVersion} from '#src/resources/custom/family.js';
import {builtinSchemas} from '#src/schema/builtin/schemas.js';
import {definitionFindings, definitionOf, familyOf, isComplete, saidHere} from './definitions/definition.js';
import type {ReadManifests} from './files/read.js';
import type {Manifest} from './files/manifest.js';
import {CollectedFindings} from './findings/collected.js';
import {subjectText, type Finding} from './findings/finding.js';
import {CheckedCluster} from './manifests/cluster.js';
import {checkObject, type Checked, type ObjectParts, type Placed} from './manifests/object.js';
import type {LocalParts} from './manifests/local.js';
import {quotaFindings, quotasAfter, type Demand, type Quota} from './manifests/quotas.js';

export interface CheckOptions {
  readonly clock: Clock;
  /** The namespace of objects that name none. */
  readonly namespace: string;
  readonly fieldManager: string;
}

/** What was found. */
export interface CheckResult {
  readonly objects: number;
  readonly findings: CollectedFindings;
}

/** How many objects are checked at once. */
const atOnce = 8;

/** Checks what files would do to a cluster. Rejects if the cluster cannot be asked. */
export const check = async (client: Client, {manifests, findings}: ReadManifests, options: CheckOptions): Promise<CheckResult> => {
  const cluster = new CheckedCluster(client);
  const local: LocalParts = {naming: client.naming, clock: options.clock, schemas: builtinSchemas()};
  const collected = new CollectedFindings();
  collected.add(findings);
  const {placed, problems} = await place(manifests, {cluster, local, namespace: options.namespace});
  collected.add(problems);
  const parts: ObjectParts = {...local, cluster, fieldManager: options.fieldManager, holds: holderOf(placed)};
  const demands: Demand[] = [];
  const alone: Finding[] = []; // What quotas refuse of one object alone: at most that of each object.
  const others: Finding[] = [];
  for (let at = 0; at < placed.length; at += atOnce) {
    const checked = await Promise.all(placed.slice(at, at + atOnce).map(each => checkWhole(each, parts)));
    for (const each of checked) demands.push(...each.demands);
    for (const finding of checked.flatMap(each => each.findings)) (finding.rule === 'quota' ? alone : others).push(finding);
    collected.add(others.splice(0));
  }
  const summed = await summedFindings(demands, placed, parts);
  collected.add(summed);
  collected.add(alone.filter(finding => !summed.some(sum => saysMore(sum, finding))));
  return {objects: manifests.length, findings: collected};
};

/** Whether a finding about a sum also says that a quota refuses one of the objects. */
const saysMore = (sum: Finding, {message, object}: Finding): boolean =>
  sum.object?.namespace === object?.namespace && message.includes('exceeded quota: ') && sum.rule === 'quota';

const checkWhole = async (placed: Placed, parts: ObjectParts): Promise<Checked> => {
  const checked = await checkObject(placed, parts);
  if (!placed.manifest.isOf(kinds.customResourceDefinitions, parts.naming)) return checked;
  const own = await definitionFindings(placed.manifest, parts.cluster, parts);
  const isSaid = own.some(({rule}) => rule === 'definition-immutable');
  const others = checked.findings.filter(({rule, field = ''}) => !(isSaid && rule === 'invalid' && saidHere(field)));
  return {...checked, findings: [...others, ...own]};
};

const keyOf = ({group, plural}: Pick<Kind, 'group' | 'plural'>, namespace: string | undefined, name: string): string =>
  `${group}/${plural} ${namespace ?? ''}/${name}`;

const holderOf = (placed: readonly Placed[]): ObjectParts['holds'] => {
  const held = new Set(placed.map(({manifest, kind}) => keyOf(kind, kind.namespaced ? manifest.namespace : undefined, manifest.name)));
  return (kind, namespace, name) => held.has(keyOf(kind, namespace, name));
};

interface PlaceParts {
  readonly cluster: CheckedCluster;
  readonly local: LocalParts;
  readonly namespace: string;
}

/** Finds out of which kind each object is, and whether its namespace is there. */
const place = async (
  manifests: readonly Manifest[],
  {cluster, local, namespace}: PlaceParts,
): Promise<{readonly placed: readonly Placed[]; readonly problems: readonly Finding[]}> => {
  const {naming} = local;
  const defined = definedKinds(manifests, local);
  const created = new Set(manifests.filter(manifest => manifest.isOf(kinds.namespaces, naming)).map(({name}) => name));
  const placed: Placed[] = [];
  const problems: Finding[] = [];
  const seen = new Set<string>();
  for (const manifest of manifests) {
    const {apiVersion, kind: name} = manifest.object;
    const own = defined.get(`${apiVersion} ${name}`);
    const served = await cluster.served.find(manifest.object);
    const kind = served ?? own?.kind;
    if (!kind) {
      problems.push(
        manifest.finding('unknown-kind', `the server knows no ${name} in ${apiVersion}, and these files do not define it`, {field: 'kind'}),
      );
      continue;
    }
    const within = kind.namespaced ? manifest.within(namespace) : manifest;
    const at = within.namespace ?? namespace;
    const key = keyOf(kind, kind.namespaced ? at : undefined, manifest.name);
    if (manifest.object.metadata.name && seen.has(key))
      problems.push(within.finding('repeated-object', `${subjectText(within.subject)} is in these files before: the last one counts`));
    seen.add(key);
    const isHere = !kind.namespaced || (await cluster.hasNamespace(at));
    placed.push({
      manifest: within,
      kind,
      defined: own,
      isServed: served !== undefined,
      namespace: isHere ? 'cluster' : created.has(at) ? 'files' : 'nowhere',
    });
  }
  return {placed, problems};
};

/** The versions of kinds that the files define, by `apiVersion` and kind. */
const definedKinds = (manifests: readonly Manifest[], parts: LocalParts): ReadonlyMap<string, CustomVersion> => {
  const all = new Map<string, CustomVersion>();
  for (const manifest of manifests) {
    if (!manifest.isOf(kinds.customResourceDefinitions, parts.naming)) continue;
    const definition = definitionOf(manifest);
    if (!isComplete(definition)) continue;
    for (const version of familyOf(definition, parts).versions)
      if (version.served) all.set(`${apiVersionOf(parts.naming, version.kind)} ${version.kind.kind}`, version);
  }
  return all;
};

/** What the objects of the files ask of the quotas of each namespace together. */
const summedFindings = async (demands: readonly Demand[], placed: readonly Placed[], parts: ObjectParts): Promise<Finding[]> => {
  const byNamespace = new Map<string, Demand[]>();
  for (const demand of demands) {
    if (!demand.kind.namespaced) continue;
    const namespace = demand.manifest.namespace ?? '';
    const others = byNamespace.get(namespace);
    if (others) others.push(demand);
    else byNamespace.set(namespace, [demand]);
  }
  const found: Finding[] = [];
  const written = placed.filter(({manifest}) => manifest.isOf(kinds.resourceQuotas, parts.naming)).map(({manifest}) => manifest);
  for (const [namespace, own] of byNamespace) {
    const stored = await quotasOf(namespace, parts.cluster);
    const quotas = quotasAfter(
      stored ?? [],
      written.filter(manifest => manifest.namespace === namespace),
    );
    if (!stored)
      found.push(
        own[0]!.manifest.finding(
          'not-checked',
          `you may not list resourcequotas in the namespace ${namespace}: sums were not compared with them`,
        ),
      );
    found.push(...quotaFindings(quotas, own, {naming: parts.naming, now: parts.clock.now()}));
  }
  return found;
};

const quotasOf = async (namespace: string, {client}: CheckedCluster): Promise<readonly Quota[] | undefined> => {
  try {
    return (await listAll(client.resource(kinds.resourceQuotas), {namespace})).items;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
};
