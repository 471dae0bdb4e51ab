import {isIpv6} from '#src/base/ip-address.js';

export type IpFamily = 'IPv4' | 'IPv6';

export const otherFamily = (family: IpFamily): IpFamily => (family === 'IPv4' ? 'IPv6' : 'IPv4');
export const familyOf = (address: string): IpFamily => (isIpv6(address) ? 'IPv6' : 'IPv4');
