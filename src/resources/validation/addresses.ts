import {isIP} from 'node:net';

/** Whether a text is an address and a prefix length that fits it (RFC 4632, RFC 4291). */
export const isCidr = (text: string): boolean => {
  const [address = '', length = '', ...rest] = text.split('/');
  const family = isIP(address);
  return rest.length === 0 && family !== 0 && !address.includes('%') && /^\d{1,3}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128);
};
