// Device preparation on simulated nodes: containers start once their claims are reserved for the pod and the devices
// are prepared.

import type {Frozen} from '#src/api/key.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {isForbidden, isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {claimNameOf, foreignText, isReservedFor, notCreatedText, type DeviceClaim} from '#src/model/devices/pod-claims.js';
import type {Agent} from '#src/simulation/node/agent.js';
import type {SimulationContext} from '#src/simulation/node/context.js';
import type {ClaimedDevice, PodRecord} from '#src/simulation/pod/record.js';
import {drawDuration, exactly} from '#src/simulation/rules/behavior.js';
import {devicesOfNode, type DeviceRule} from '#src/simulation/rules/device-rule.js';

/** The delay before a failed preparation is retried. */
const retryMs = 5_000;
const usual = exactly(100);

type Result = NonNullable<NonNullable<NonNullable<NonNullable<DeviceClaim['status']>['allocation']>['devices']>['results']>[number];

/** The claims of a pod by name, or why one is not available yet. */
const claimNamesOf = (pod: Frozen<Pod>): readonly {readonly name: string; readonly generated: boolean}[] | string => {
  const names: {name: string; generated: boolean}[] = [];
  for (const entry of pod.spec?.resourceClaims ?? []) {
    const found = claimNameOf(pod, entry);
    if (found === 'not created') return notCreatedText(pod);
    if (found) names.push(found);
  }
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName;
  return extended ? [...names, {name: extended, generated: true}] : names;
};

/** Whether a pod has resource claims. */
const hasDevices = ({spec, status}: Frozen<Pod>): boolean =>
  (spec?.resourceClaims?.length ?? 0) > 0 || status?.extendedResourceClaimStatus !== undefined;

const devicesByClaim = (claims: readonly DeviceClaim[]): ReadonlyMap<string, readonly ClaimedDevice[]> =>
  new Map(claims.map(({metadata, status}) => [metadata?.name ?? '', status?.allocation?.devices?.results ?? []]));

/** Prepares devices of pods, according to the rules. */
export class DevicePreparation {
  readonly #context: SimulationContext;

  constructor(context: SimulationContext) {
    this.#context = context;
  }

  /**
   * Prepares the devices of a pod whose containers have not started. Sets `record.devices` to the state of the
   * preparation.
   */
  async prepare(agent: Agent, record: PodRecord): Promise<void> {
    const {timeline, client, naming} = this.#context;
    const now = timeline.now();
    if (!hasDevices(record.pod) || record.devices?.isPrepared || now < (record.devices?.retryAt ?? 0)) return;
    const claims = await this.#claimsOf(agent, record.pod);
    const ruled = typeof claims === 'string' ? [] : claims.flatMap(claim => this.#ruled(agent, claim));
    const failed = ruled.find(({rule}) => rule.prepareError !== undefined);
    const why =
      typeof claims === 'string'
        ? claims
        : failed && `NodePrepareResources failed for ResourceClaim ${failed.claim.metadata?.name}: ${failed.rule.prepareError}`;
    if (why !== undefined) {
      agent.events.warning(record.pod, 'FailedPrepareDynamicResources', `Failed to prepare dynamic resources: ${why}`);
      record.devices = {isPrepared: false, retryAt: now + retryMs};
      return;
    }
    const times = ruled.map(({rule, result}) => drawDuration(rule.prepareAfter ?? usual, `${record.uid}/${result.device}/prepareAfter`));
    const readyAt = record.devices?.readyAt ?? now + Math.max(0, ...times);
    record.devices = {isPrepared: now >= readyAt, retryAt: readyAt, readyAt};
    if (!record.devices.isPrepared) return;
    if (typeof claims !== 'string') record.claimed = devicesByClaim(claims);
    const byClaim = new Map<Frozen<DeviceClaim>, Result[]>();
    for (const {claim, result} of ruled) byClaim.set(claim, [...(byClaim.get(claim) ?? []), result]);
    for (const [claim, results] of byClaim) {
      const {name = '', namespace = '', uid} = claim.metadata ?? {};
      const devices = results.map(({driver, pool, device, shareID}) => ({
        driver,
        pool,
        device,
        ...(shareID === undefined ? {} : {shareID}),
        conditions: [{type: 'Ready', status: 'True', reason: 'Prepared', message: '', lastTransitionTime: wireTime(timeline.wallOf(now))}],
      }));
      const intent = {
        apiVersion: apiVersionOf(naming, kinds.resourceClaims),
        kind: kinds.resourceClaims.kind,
        metadata: {name, namespace, uid},
        status: {devices},
      };
      // The server drops the field if the feature gate is off.
      await client
        .resource(kinds.resourceClaims)
        .patch(name, 'apply', intent, {namespace, subresource: 'status', fieldManager: `simulation-${agent.machine.name}`, force: true});
    }
  }

  /** Finds the devices of a pod that an earlier process has prepared. */
  async recall(agent: Agent, record: PodRecord): Promise<void> {
    if (record.claimed || !hasDevices(record.pod)) return;
    const claims = await this.#claimsOf(agent, record.pod);
    record.claimed = typeof claims === 'string' ? new Map() : devicesByClaim(claims);
  }

  /** Returns the claims of a pod, or why it cannot use them. */
  async #claimsOf(agent: Agent, pod: Frozen<Pod>): Promise<readonly DeviceClaim[] | string> {
    const {name: podName, namespace = '', uid} = pod.metadata ?? {};
    const names = claimNamesOf(pod);
    if (typeof names === 'string') return names;
    const claims: DeviceClaim[] = [];
    for (const {name, generated} of names) {
      const claim = await agent.client
        .resource(kinds.resourceClaims)
        .get(name, {namespace})
        .catch((error: unknown) => {
          if (isNotFound(error) || isForbidden(error)) return error;
          throw error;
        });
      if (claim instanceof Error) return `failed to fetch ResourceClaim ${name} referenced by pod ${podName}: ${claim.message}`;
      const foreign = generated ? foreignText(pod, claim) : undefined;
      if (foreign) return foreign;
      if (!isReservedFor(claim, uid)) return `pod ${podName}(${uid}) is not allowed to use resource claim ${name}(${claim.metadata?.uid})`;
      claims.push(claim);
    }
    return claims;
  }

  /** Returns the devices of a claim that the rules place on this node, with their rules. */
  #ruled(
    {machine: {name: node}}: Agent,
    claim: DeviceClaim,
  ): {readonly claim: DeviceClaim; readonly result: Result; readonly rule: DeviceRule}[] {
    const results = claim.status?.allocation?.devices?.results ?? [];
    const own = devicesOfNode(this.#context.rules.devices, node);
    return results.flatMap(result => {
      const device = result.pool === node ? own.get(result.driver)?.find(({name}) => name === result.device) : undefined;
      return device ? [{claim, result, rule: device.rule}] : [];
    });
  }
}
