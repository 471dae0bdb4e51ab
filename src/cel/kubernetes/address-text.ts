// Why a text is no address or range, in the words of Go's net/netip.

const quoted = JSON.stringify;

/** What is wrong, and from where on. */
type Wrong = {readonly why: string; readonly at?: string} | undefined;

const octetsWrong = (text: string): Wrong => {
  let [value, digits, fields] = [0, 0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!;
    if (/\d/.test(character)) {
      if (digits === 1 && value === 0) return {why: 'IPv4 field has octet with leading zero'};
      value = value * 10 + Number(character);
      digits += 1;
      if (value > 255) return {why: 'IPv4 field has value >255'};
    } else if (character === '.') {
      if (at === 0 || at === text.length - 1 || text[at - 1] === '.') return {why: 'IPv4 field must have at least one digit', at: text.slice(at)};
      if (fields === 3) return {why: 'IPv4 address too long'};
      fields += 1;
      [value, digits] = [0, 0];
    } else return {why: 'unexpected character', at: text.slice(at)};
  }
  return fields < 3 ? {why: 'IPv4 address too short'} : undefined;
};

const groupWrong = (rest: string): Wrong => {
  const [digits = ''] = /^[0-9a-fA-F]*/.exec(rest) ?? [];
  if (digits.length > 4) return {why: 'each group must have 4 or less digits', at: rest};
  return digits === '' ? {why: 'each colon-separated field must have at least one digit', at: rest} : undefined;
};

const tailWrong = (rest: string, bytes: number, hasGap: boolean): Wrong => {
  if (!hasGap && bytes !== 12) return {why: 'embedded IPv4 address must replace the final 2 fields of the address', at: rest};
  if (bytes > 12) return {why: 'too many hex fields to fit an embedded IPv4 at the end of the address', at: rest};
  return octetsWrong(rest);
};

const hextetsWrong = (text: string): Wrong => {
  let rest = text;
  let hasGap = rest.startsWith('::');
  if (hasGap) rest = rest.slice(2);
  if (rest === '' && hasGap) return undefined;
  let bytes = 0;
  while (bytes < 16) {
    const wrong = groupWrong(rest);
    if (wrong) return wrong;
    const [digits = ''] = /^[0-9a-fA-F]+/.exec(rest) ?? [];
    if (rest[digits.length] === '.') {
      const inTail = tailWrong(rest, bytes, hasGap);
      if (inTail) return inTail;
      bytes += 4;
      rest = '';
      break;
    }
    bytes += 2;
    rest = rest.slice(digits.length);
    if (rest === '') break;
    if (!rest.startsWith(':')) return {why: 'unexpected character, want colon', at: rest};
    if (rest.length === 1) return {why: 'colon must be followed by more characters', at: rest};
    rest = rest.slice(1);
    if (!rest.startsWith(':')) continue;
    if (hasGap) return {why: 'multiple :: in address', at: rest};
    hasGap = true;
    rest = rest.slice(1);
    if (rest === '') break;
  }
  if (rest !== '') return {why: 'trailing garbage after address', at: rest};
  if (bytes < 16) return hasGap ? undefined : {why: 'address string too short'};
  return hasGap ? {why: 'the :: must expand to at least one field of zeros'} : undefined;
};

const longWrong = (text: string): Wrong => {
  const percent = text.indexOf('%');
  if (percent === -1) return hextetsWrong(text);
  return percent === text.length - 1 ? {why: 'zone must be a non-empty string'} : hextetsWrong(text.slice(0, percent));
};

const wrongIn = (text: string): Wrong => {
  const mark = /[.:%]/.exec(text)?.[0];
  if (mark === '.') return octetsWrong(text);
  if (mark === ':') return longWrong(text);
  return {why: mark === '%' ? 'missing IPv6 address' : 'unable to parse IP'};
};

/** Why a text is no address, with a zone or without; undefined for one that is. */
export const addressComplaint = (text: string): string | undefined => {
  const wrong = wrongIn(text);
  return wrong && `ParseAddr(${quoted(text)}): ${wrong.why}${wrong.at === undefined ? '' : ` (at ${quoted(wrong.at)})`}`;
};

/** The zone of an address of IPv6, or the empty text. */
export const zoneOf = (text: string): string => (text.includes('%') ? text.slice(text.indexOf('%') + 1) : '');

const rangeWrong = (text: string): string | undefined => {
  const slash = text.lastIndexOf('/');
  if (slash === -1) return "no '/'";
  const address = text.slice(0, slash);
  const complaint = addressComplaint(address);
  if (complaint !== undefined) return complaint;
  if (zoneOf(address) !== '') return 'IPv6 zones cannot be present in a prefix';
  const bits = text.slice(slash + 1);
  if (!/^(?:\d|[1-9]\d{0,17})$/.test(bits)) return `bad bits after slash: ${quoted(bits)}`;
  return Number(bits) > (address.includes(':') ? 128 : 32) ? 'prefix length out of range' : undefined;
};

/** Why a text is no range of addresses; undefined for one that is. */
export const rangeComplaint = (text: string): string | undefined => {
  const wrong = rangeWrong(text);
  return wrong && `netip.ParsePrefix(${quoted(text)}): ${wrong}`;
};
