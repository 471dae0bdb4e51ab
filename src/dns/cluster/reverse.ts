import {formatIp, parseIp} from '#src/base/ip-address.js';
import {labelsOf, type WireName} from '#src/dns/wire/names.js';

/** The address that a name below `in-addr.arpa` or `ip6.arpa` stands for; undefined for other names. */
export const reversedAddress = (lower: WireName): string | undefined => {
  const labels = labelsOf(lower);
  const zone = labels.slice(-2).join('.');
  const parts = labels.slice(0, -2).toReversed();
  const address =
    zone === 'in-addr.arpa' && parts.length === 4
      ? parseIp(parts.join('.'))
      : zone === 'ip6.arpa' && parts.length === 32 && parts.every(part => /^[0-9a-f]$/.test(part))
        ? parseIp(parts.join('').replaceAll(/.{4}(?=.)/g, '$&:'))
        : undefined;
  return address && formatIp(address);
};
