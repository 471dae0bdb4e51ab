// Error messages for invalid IP addresses and prefixes, as Go's net/netip reports them.

const quoted = JSON.stringify;

/** The reason, and the rest of the text from the error on. */
type AddressError = {readonly reason: string; readonly at?: string} | undefined;

const ipv4Error = (text: string): AddressError => {
  let [value, digits, fields] = [0, 0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!;
    if (/\d/.test(character)) {
      if (digits === 1 && value === 0) return {reason: 'IPv4 field has octet with leading zero'};
      value = value * 10 + Number(character);
      digits += 1;
      if (value > 255) return {reason: 'IPv4 field has value >255'};
    } else if (character === '.') {
      if (at === 0 || at === text.length - 1 || text[at - 1] === '.')
        return {reason: 'IPv4 field must have at least one digit', at: text.slice(at)};
      if (fields === 3) return {reason: 'IPv4 address too long'};
      fields += 1;
      [value, digits] = [0, 0];
    } else return {reason: 'unexpected character', at: text.slice(at)};
  }
  return fields < 3 ? {reason: 'IPv4 address too short'} : undefined;
};

const hextetError = (rest: string): AddressError => {
  const [digits = ''] = /^[0-9a-fA-F]*/.exec(rest) ?? [];
  if (digits.length > 4) return {reason: 'each group must have 4 or less digits', at: rest};
  return digits === '' ? {reason: 'each colon-separated field must have at least one digit', at: rest} : undefined;
};

const embeddedIpv4Error = (rest: string, bytes: number, hasGap: boolean): AddressError => {
  if (!hasGap && bytes !== 12) return {reason: 'embedded IPv4 address must replace the final 2 fields of the address', at: rest};
  if (bytes > 12) return {reason: 'too many hex fields to fit an embedded IPv4 at the end of the address', at: rest};
  return ipv4Error(rest);
};

const ipv6Error = (text: string): AddressError => {
  let rest = text;
  let hasGap = rest.startsWith('::');
  if (hasGap) rest = rest.slice(2);
  if (rest === '' && hasGap) return undefined;
  let bytes = 0;
  while (bytes < 16) {
    const error = hextetError(rest);
    if (error) return error;
    const [digits = ''] = /^[0-9a-fA-F]+/.exec(rest) ?? [];
    if (rest[digits.length] === '.') {
      const inTail = embeddedIpv4Error(rest, bytes, hasGap);
      if (inTail) return inTail;
      bytes += 4;
      rest = '';
      break;
    }
    bytes += 2;
    rest = rest.slice(digits.length);
    if (rest === '') break;
    if (!rest.startsWith(':')) return {reason: 'unexpected character, want colon', at: rest};
    if (rest.length === 1) return {reason: 'colon must be followed by more characters', at: rest};
    rest = rest.slice(1);
    if (!rest.startsWith(':')) continue;
    if (hasGap) return {reason: 'multiple :: in address', at: rest};
    hasGap = true;
    rest = rest.slice(1);
    if (rest === '') break;
  }
  if (rest !== '') return {reason: 'trailing garbage after address', at: rest};
  if (bytes < 16) return hasGap ? undefined : {reason: 'address string too short'};
  return hasGap ? {reason: 'the :: must expand to at least one field of zeros'} : undefined;
};

const ipv6WithZoneError = (text: string): AddressError => {
  const percent = text.indexOf('%');
  if (percent === -1) return ipv6Error(text);
  return percent === text.length - 1 ? {reason: 'zone must be a non-empty string'} : ipv6Error(text.slice(0, percent));
};

const addressErrorOf = (text: string): AddressError => {
  const mark = /[.:%]/.exec(text)?.[0];
  if (mark === '.') return ipv4Error(text);
  if (mark === ':') return ipv6WithZoneError(text);
  return {reason: mark === '%' ? 'missing IPv6 address' : 'unable to parse IP'};
};

/** Returns why a text is not an IP address, with or without a zone; undefined for a valid one. */
export const addressError = (text: string): string | undefined => {
  const error = addressErrorOf(text);
  return error && `ParseAddr(${quoted(text)}): ${error.reason}${error.at === undefined ? '' : ` (at ${quoted(error.at)})`}`;
};

/** Returns the zone of an IPv6 address, or the empty string. */
export const zoneOf = (text: string): string => (text.includes('%') ? text.slice(text.indexOf('%') + 1) : '');

const prefixErrorOf = (text: string): string | undefined => {
  const slash = text.lastIndexOf('/');
  if (slash === -1) return "no '/'";
  const address = text.slice(0, slash);
  const error = addressError(address);
  if (error !== undefined) return error;
  if (zoneOf(address) !== '') return 'IPv6 zones cannot be present in a prefix';
  const bits = text.slice(slash + 1);
  if (!/^(?:\d|[1-9]\d{0,17})$/.test(bits)) return `bad bits after slash: ${quoted(bits)}`;
  return Number(bits) > (address.includes(':') ? 128 : 32) ? 'prefix length out of range' : undefined;
};

/** Returns why a text is not a CIDR prefix; undefined for a valid one. */
export const prefixError = (text: string): string | undefined => {
  const error = prefixErrorOf(text);
  return error && `netip.ParsePrefix(${quoted(text)}): ${error}`;
};
