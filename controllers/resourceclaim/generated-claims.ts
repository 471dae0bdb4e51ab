import {indexing, type Index, type Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import {
  asksForAdminAccess,
  claimNameOf,
  foreignText,
  type ClaimKeys,
  type DeviceClaim,
  type PodClaim,
} from '#src/model/devices/pod-claims.js';
import {controllerOf, controllerRefTo} from '#src/model/owners.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {ClaimMetrics} from './metrics.js';

/** Claims by the UID of their controller. */
const byOwner: Index<DeviceClaim> = {name: 'controller uid', values: claim => [controllerOf(claim)?.uid].filter(uid => uid !== undefined)};

/** Names end with a hyphen and five random characters, and have at most 63. */
const maxBaseLength = 57;

/**
 * Returns the prefix of the name of a generated claim. If it is too long, the names of the pod and of the entry are
 * shortened in proportion.
 */
export const generateName = (pod: string, entry: string): string => {
  const full = `${pod}-${entry}-`;
  if (full.length <= maxBaseLength) return full;
  const part = (text: string) => text.slice(0, Math.floor((text.length * maxBaseLength) / full.length));
  return `${part(pod)}-${part(entry)}`;
};

/** Claims that were just created stay known until the cache has them, at most this long. */
const unseenMs = 60 * 60_000;

export interface GeneratedClaimsParts extends Pick<KeyedContext, 'clock' | 'naming' | 'writer' | 'lister' | 'gates'> {
  readonly keys: ClaimKeys;
  readonly metrics: ClaimMetrics;
}

/** Creates claims of pods from templates, each once. */
export class GeneratedClaims {
  readonly #parts: GeneratedClaimsParts;
  readonly #claims: Lister<DeviceClaim>;
  readonly #unseen = new Map<string, {readonly claim: DeviceClaim; readonly until: number}>();

  constructor(parts: GeneratedClaimsParts) {
    this.#parts = parts;
    this.#claims = indexing(parts.lister(kinds.resourceClaims), byOwner);
  }

  /** Notes that the cache has, or had, a claim. */
  seen({metadata}: Frozen<DeviceClaim>): void {
    this.#unseen.delete(metadata?.uid ?? '');
  }

  /**
   * Returns the name of the claim of an entry, which is created if it does not exist; undefined for an entry without a
   * template, or that needs no claim.
   */
  async nameOf(pod: Frozen<Pod>, entry: PodClaim): Promise<string | undefined> {
    const {resourceClaimTemplateName: template} = entry;
    const found = claimNameOf(pod, entry);
    if (!found || !template || (found !== 'not created' && !found.generated)) return undefined;
    if (found !== 'not created') {
      const claim = this.#claims.get({namespace: pod.metadata?.namespace ?? '', name: found.name});
      if (claim && !foreignText(pod, claim)) return found.name;
    }
    return (this.#orphan(pod, entry) ?? (await this.#create(pod, entry, template))).metadata?.name;
  }

  /** Returns a claim that was created for the entry, but is not in the pod's status yet. */
  #orphan(pod: Frozen<Pod>, {name}: PodClaim): Frozen<DeviceClaim> | undefined {
    const {clock, keys} = this.#parts;
    const uid = pod.metadata?.uid;
    const isOfEntry = ({metadata}: Frozen<DeviceClaim>) =>
      // Without the annotation, the name is that of releases before 1.28.
      (metadata?.annotations?.[keys.podClaim] ?? (metadata?.name === `${pod.metadata?.name}-${name}` ? name : undefined)) === name;
    const cached = this.#claims.by(byOwner, uid ?? '').find(isOfEntry);
    if (cached) return cached;
    for (const [id, {claim, until}] of this.#unseen) {
      if (until < clock.now()) this.#unseen.delete(id);
      else if (controllerOf(claim)?.uid === uid && isOfEntry(claim)) return claim;
    }
    return undefined;
  }

  async #create(pod: Frozen<Pod>, {name: entry}: PodClaim, templateName: string): Promise<DeviceClaim> {
    const {clock, gates, keys, lister, metrics, naming, writer} = this.#parts;
    const {namespace = '', name = ''} = pod.metadata ?? {};
    const template = lister(kinds.resourceClaimTemplates).get({namespace, name: templateName});
    if (!template) throw new Error(missingTemplateText(templateName, naming));
    const spec = template.spec.spec as DeviceClaim['spec'];
    if (asksForAdminAccess(spec) && !gates.enabled('DRAAdminAccess'))
      throw new Error('admin access is requested, but the feature is disabled');
    const {annotations, labels} = template.spec.metadata ?? {};
    const claim: DeviceClaim = {
      metadata: {
        namespace,
        generateName: generateName(name, entry),
        annotations: {...annotations, [keys.podClaim]: entry},
        ...(labels ? {labels: {...labels}} : {}),
        ownerReferences: [controllerRefTo(pod, kinds.pods, naming)],
      },
      spec,
    };
    try {
      const created = await writer(kinds.resourceClaims).create(claim);
      metrics.created('success', spec);
      if (!this.#claims.get({namespace, name: created.metadata!.name!}))
        this.#unseen.set(created.metadata!.uid!, {claim: created, until: clock.now() + unseenMs});
      return created;
    } catch (error) {
      metrics.created('failure', spec);
      throw new Error(`create ResourceClaim : ${messageOf(error)}`, {cause: error});
    }
  }
}

const missingTemplateText = (name: string, naming: Naming): string => {
  const quoted = JSON.stringify(name);
  return `resource claim template ${quoted}: resourceclaimtemplate.${naming.group('resource')} ${quoted} not found`;
};
