import {VirtualClock} from '#src/base/virtual-clock.js';
import type {PlaneOptions} from '#src/plane/inputs/options.js';
import type {Plane} from '#src/plane/plane.js';
import {requestsOf, type RequestParts} from './requests.js';
import {aPlane, type TestPlaneOptions} from './plane.js';
import type {SigningFiles} from './signing-files.js';

export const start = Date.parse('2026-01-01T00:00:00Z');
export const minute = 60_000;
export const hour = 60 * minute;

export type TestPlane = Plane & {readonly clock: VirtualClock};

/**
 * A plane with the controllers of signing requests, and of the CA that verifies what they issue: all others take half
 * the time of its start.
 */
export const aSigningPlane = (options: TestPlaneOptions = {}): Promise<TestPlane> =>
  aPlane({controllers: ['csrapproving', 'csrsigning', 'csrcleaner', 'root-ca-cert-publisher'], ...options});

/** A request that was made and approved, after everything that set off. */
export const approved = async (plane: TestPlane, parts: RequestParts) => {
  const requests = requestsOf(plane);
  await requests.create(parts);
  await plane.clock.drain();
  // Those of nodes are approved without us.
  const {status} = await requests.get(parts.name);
  if (!status?.conditions) await requests.setApproval('Approved', parts.name);
  await plane.clock.drain();
  return requests;
};

/** The outcome of an approved request. */
export const outcome = async (plane: TestPlane, parts: RequestParts) => {
  const requests = await approved(plane, parts);
  return {
    issued: await requests.issued(parts.name),
    failed: (await requests.conditionsOf(parts.name ?? 'req')).find(({type}) => type === 'Failed'),
  };
};

export const generic = ({certificate, key}: SigningFiles): Pick<PlaneOptions, 'controllerManagerArgs'> => ({
  controllerManagerArgs: [`--cluster-signing-cert-file=${certificate}`, `--cluster-signing-key-file=${key}`],
});
