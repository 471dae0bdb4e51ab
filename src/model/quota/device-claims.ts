import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {quantityOf} from '#src/api/quantity.js';
import type {ResourceList} from '#src/model/pod/requests.js';
import {resourceList, type QuotaEvaluator} from './evaluator.js';

type Claim = ObjectOf<typeof kinds.resourceClaims>;
interface Request {
  readonly deviceClassName: string;
  readonly allocationMode?: string;
  readonly count?: number;
}

/** The maximum number of devices per claim, charged for claims with allocation mode All. */
const maxDevicesPerClaim = 32;
const devicesOf = ({allocationMode, count = 1}: Request): number => (allocationMode === 'All' ? maxDevicesPerClaim : count);

/** Evaluates resource claims: the number of devices by device class; of alternatives the largest. */
export const deviceClaimEvaluator = (naming: Naming): QuotaEvaluator => {
  const group = naming.group('resource');
  const suffix = `.deviceclass.${group}/devices`;
  return {
    group,
    resource: 'resourceclaims',
    kind: kinds.resourceClaims,
    handles: (operation, subresource) => subresource === '' && operation === 'CREATE',
    matchesResource: name => name === `count/resourceclaims.${group}` || name.endsWith(suffix),
    usage(object) {
      const used: ResourceList = resourceList([`count/resourceclaims.${group}`, quantityOf(1)]);
      const sums = new Map<string, number>();
      for (const {exactly, firstAvailable = []} of (object as Frozen<Claim>).spec?.devices?.requests ?? []) {
        const largest = new Map<string, number>();
        for (const request of exactly ? [exactly as Request] : (firstAvailable as readonly Request[])) {
          largest.set(request.deviceClassName, Math.max(largest.get(request.deviceClassName) ?? 0, devicesOf(request)));
        }
        for (const [name, count] of largest) sums.set(name, (sums.get(name) ?? 0) + count);
      }
      for (const [name, count] of sums) used.set(`${name}${suffix}`, quantityOf(count));
      return used;
    },
  };
};
