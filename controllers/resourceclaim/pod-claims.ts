import {keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import {unlessMissing} from '#src/client/missing.js';
import type {DeviceClaim} from '#src/model/devices/pod-claims.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {GeneratedClaims} from './generated-claims.js';

/** The field manager of pods' status. */
const fieldManager = 'ResourceClaimController';

/** Writes the claims of pods. */
export class PodClaims {
  readonly #context: Pick<KeyedContext, 'writer' | 'events' | 'naming'>;
  readonly #generated: GeneratedClaims;

  constructor(context: Pick<KeyedContext, 'writer' | 'events' | 'naming'>, generated: GeneratedClaims) {
    this.#context = context;
    this.#generated = generated;
  }

  /** Generates what is missing. Returns the names of generated claims by entry. */
  async generate(pod: Frozen<Pod>, key: ObjectKey): Promise<Map<string, string>> {
    const names = new Map<string, string>();
    for (const entry of pod.spec?.resourceClaims ?? []) {
      try {
        const name = await this.#generated.nameOf(pod, entry);
        if (name !== undefined) names.set(entry.name, name);
      } catch (error) {
        const message = `PodResourceClaim ${entry.name}: ${messageOf(error)}`;
        this.#context.events.warning({...pod, apiVersion: 'v1', kind: 'Pod'}, 'FailedResourceClaimCreation', message);
        throw new Error(`pod ${keyText(key)}, ${message}`, {cause: error});
      }
    }
    return names;
  }

  /** Writes the names of generated claims, unless the status has them. An entry that is left out would be removed. */
  async record(pod: Frozen<Pod>, names: ReadonlyMap<string, string>): Promise<void> {
    const statuses = pod.status?.resourceClaimStatuses ?? [];
    if ([...names].every(([name, claim]) => statuses.some(each => each.name === name && each.resourceClaimName === claim))) return;
    const {namespace, name, uid} = pod.metadata ?? {};
    const {naming, writer} = this.#context;
    const intent = {
      apiVersion: apiVersionOf(naming, kinds.pods),
      kind: kinds.pods.kind,
      metadata: {namespace, name, uid},
      status: {resourceClaimStatuses: [...names].map(([entry, resourceClaimName]) => ({name: entry, resourceClaimName}))},
    };
    await unlessMissing(writer(kinds.pods).patch(pod, 'apply', intent, {subresource: 'status', fieldManager, force: true}));
  }

  /** Reserves a claim for the pod, beside others. */
  async reserve(pod: Frozen<Pod>, claim: Frozen<DeviceClaim>): Promise<void> {
    const consumer = {resource: 'pods', name: pod.metadata!.name!, uid: pod.metadata!.uid!};
    const reservedFor = [...(claim.status?.reservedFor ?? []), consumer];
    try {
      await this.#context.writer(kinds.resourceClaims).updateStatus({...claim, status: {...claim.status, reservedFor}} as DeviceClaim);
    } catch (error) {
      throw new Error(`reserve claim for pod: ${messageOf(error)}`, {cause: error});
    }
  }
}
