import type {Frozen} from '#src/api/key.js';
import type {Labels, Meter} from '#src/base/meter.js';
import {asksForAdminAccess, type ClaimKeys, type DeviceClaim} from '#src/model/devices/pod-claims.js';

const subsystem = 'resourceclaim_controller';

/** The controller's metrics, under upstream's names. */
export const claimMetrics = (meter: Meter, keys: ClaimKeys, signal: AbortSignal) => {
  const creates = meter.counter({
    name: `${subsystem}_creates_total`,
    help: 'Number of ResourceClaims creation requests, categorized by creation status and admin access',
    labels: ['status', 'admin_access'],
  });
  const claims = new Map<string, {readonly labels: Labels; count: number}>();
  const observed = meter.observed(
    {
      name: `${subsystem}_resource_claims`,
      help: 'Number of ResourceClaims, by allocation, admin access and source: resource_claim_template, extended_resource, or empty for others.',
      labels: ['allocated', 'admin_access', 'source'],
    },
    () => [...claims.values()].map(({labels, count}) => [labels, count] as const),
  );
  signal.addEventListener('abort', () => observed[Symbol.dispose](), {once: true});

  const sourceOf = ({metadata}: Frozen<DeviceClaim>): string => {
    if (metadata?.annotations?.[keys.podClaim] !== undefined) return 'resource_claim_template';
    return metadata?.annotations?.[keys.extendedResource] === 'true' ? 'extended_resource' : '';
  };
  const count = (claim: Frozen<DeviceClaim>, by: number): void => {
    const labels = {
      allocated: String(Boolean(claim.status?.allocation)),
      admin_access: String(asksForAdminAccess(claim.spec)),
      source: sourceOf(claim),
    };
    const id = Object.values(labels).join();
    const series = claims.get(id) ?? {labels, count: 0};
    series.count += by;
    claims.set(id, series);
  };
  return {
    created: (status: 'success' | 'failure', spec: Frozen<DeviceClaim['spec']>) =>
      creates.add({status, admin_access: String(asksForAdminAccess(spec))}),
    changed(old: Frozen<DeviceClaim> | undefined, now: Frozen<DeviceClaim> | undefined) {
      if (old) count(old, -1);
      if (now) count(now, 1);
    },
  };
};
export type ClaimMetrics = ReturnType<typeof claimMetrics>;
