import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {subject, type Rule} from '#src/why/facts/finding.js';

type Claim = ObjectOf<typeof kinds.resourceClaims>;

const classOf: Rule<Claim> = async (claim, cluster) => {
  if (claim.status?.allocation) return undefined;
  for (const {name, exactly} of claim.spec?.devices?.requests ?? []) {
    const deviceClass = exactly?.deviceClassName;
    if (deviceClass && (await cluster.look(kinds.deviceClasses, deviceClass)).isAbsent)
      return {
        rule: 'device-class',
        sentence: `its request ${name} is of the device class ${deviceClass}, which does not exist`,
        since: claim.metadata?.creationTimestamp,
        ends: `The creation of the device class ${deviceClass}.`,
      };
  }
  return undefined;
};

const unallocated: Rule<Claim> = async (claim, cluster) => {
  if (claim.status?.allocation) return undefined;
  const slices = await cluster.list(kinds.resourceSlices);
  const devices = slices.reduce((sum, {spec}) => sum + (spec.devices?.length ?? 0), 0);
  return {
    rule: 'devices',
    sentence: `no devices are allocated to it, of ${devices} that the nodes offer`,
    since: claim.metadata?.creationTimestamp,
    ends: 'Devices that match and are free, once a pod that uses the claim is scheduled.',
  };
};

export const resourceClaimSubject = subject<Claim>({
  rules: [classOf, unallocated],
  rest: ({status}) =>
    `${status?.allocation?.devices?.results?.map(({driver, device}) => `${driver}/${device}`).join(', ')} is allocated to it`,
});
