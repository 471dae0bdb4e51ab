import {parseTime} from '#src/api/time.js';
import type {Lease} from '#src/api/types.js';
import {subject, type Rule} from '#src/why/facts/finding.js';

const expired: Rule<Lease> = ({spec, metadata}, {now}) => {
  const {holderIdentity, renewTime, leaseDurationSeconds = 0} = spec ?? {};
  if (!holderIdentity)
    return {
      rule: 'lease-free',
      sentence: 'nobody holds it',
      since: renewTime ?? metadata?.creationTimestamp,
      ends: 'A candidate that runs and takes it.',
    };
  const renewed = parseTime(renewTime);
  if (renewed === undefined || renewed + leaseDurationSeconds * 1000 > now) return undefined;
  return {
    rule: 'lease-expired',
    sentence: `its holder ${holderIdentity} has renewed it last at ${renewTime}, so that it is out of force`,
    since: renewTime,
    ends: 'Its holder, if it works again, or another candidate that takes it.',
  };
};

export const leaseSubject = subject<Lease>({
  rules: [expired],
  rest: ({spec}) => `${spec?.holderIdentity} holds it, and has renewed it at ${spec?.renewTime}`,
});
