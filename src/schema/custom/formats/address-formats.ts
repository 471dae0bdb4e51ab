const letter = String.raw`a-zA-Z0-9\p{S}\p{L}`;
const aloneLabel = new RegExp(`^[${letter}]-?[${letter}]{0,62}$`, 'u');
const innerLabel = new RegExp(`^[${letter}](?:[${letter}-]{0,61}[${letter}])?$`, 'u');
const lastLabel = /^[a-zA-Z\p{L}]{2,63}$/u;

/** Reports whether the text is a host name: at most 255 bytes, and letters only in the last of several labels. */
export const isHostname = (text: string): boolean => {
  if (Buffer.byteLength(text) > 255) return false;
  const labels = text.split('.');
  if (labels.some(label => Buffer.byteLength(label) > 63)) return false;
  if (labels.length === 1) return aloneLabel.test(text);
  return labels.slice(0, -1).every(label => innerLabel.test(label)) && lastLabel.test(labels.at(-1)!);
};

const unprintable = String.raw`\x00-\x20\x7f`;

/** Longer texts are not accepted as mail addresses. */
const longestMail = 1000;

const word = String.raw`[^${unprintable}()<>@,;:\\".\[\]]+`;
const quoted = String.raw`"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*"`;
const mailbox = String.raw`(?:${word}(?:\.${word})*|${quoted})@(?:${word}(?:\.${word})*|\[[^\[\]\\${unprintable}]*\])`;
const plainMail = new RegExp(String.raw`^\s*${mailbox}\s*(?:\([^()]*\)\s*)?$`, 'u');
const namedMail = new RegExp(String.raw`<\s*${mailbox}\s*>\s*(?:\([^()]*\)\s*)?$`, 'u');
const quotedStart = new RegExp(`^${quoted}`, 'u');
const wordStart = new RegExp(String.raw`^[^${unprintable}()<>@,;:\\"\[\]]+`, 'u');

/** Reports whether the text is a mail address, with or without a display name (RFC 5322): `a@b`, `Some One <a@b>`. */
export const isEmail = (text: string): boolean => {
  if (text.length > longestMail) return false;
  if (plainMail.test(text)) return true;
  const start = text.lastIndexOf('<');
  return start !== -1 && namedMail.test(text.slice(start)) && isName(text.slice(0, start));
};

/** Words are delimited unambiguously, so that matching needs no backtracking. */
const isName = (text: string): boolean => {
  for (let rest = text.trimStart(); rest !== '';) {
    const found = (rest.startsWith('"') ? quotedStart : wordStart).exec(rest)?.[0];
    if (!found) return false;
    rest = rest.slice(found.length).trimStart();
  }
  return true;
};

const hasGoodEscapes = (text: string): boolean => !/%(?![0-9a-fA-F]{2})/.test(text);

const hostPart = String.raw`[^${unprintable}/?#@\\^{|}%${'`'}]*`;
const hostLetters = new RegExp(`^${hostPart}(?:%[0-9a-fA-F]{2}${hostPart})*$`);
const bracketed = new RegExp(String.raw`^\[[^${unprintable}"<>\\^{|}${'`'}]*\]`);

const isHost = (host: string): boolean => {
  const bracket = host.lastIndexOf(']');
  if (host.startsWith('['))
    return bracket !== -1 && /^(?::\d*)?$/.test(host.slice(bracket + 1)) && bracketed.test(host) && hasGoodEscapes(host);
  const colon = host.lastIndexOf(':');
  const port = colon === -1 ? '' : host.slice(colon + 1);
  return /^\d*$/.test(port) && hostLetters.test(host) && !/%(?![89a-fA-F][0-9a-fA-F])/.test(host);
};

const isAuthority = (authority: string): boolean => {
  const at = authority.lastIndexOf('@');
  if (at === -1) return isHost(authority);
  const user = authority.slice(0, at);
  return /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) && hasGoodEscapes(user) && isHost(authority.slice(at + 1));
};

const control = new RegExp(String.raw`[\x00-\x1f\x7f]`);

/** Reports whether the text is a request URI: with a scheme, or an absolute path. */
export const isRequestUri = (text: string): boolean => {
  if (text === '' || control.test(text)) return false;
  if (text === '*') return true;
  if (text.startsWith(':')) return false;
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.exec(text)?.[0] ?? '';
  const [front = ''] = text.slice(scheme.length).split('?', 1);
  if (!front.startsWith('/')) return scheme !== '';
  if (scheme === '' || !front.startsWith('//')) return hasGoodEscapes(front);
  const slash = front.indexOf('/', 2);
  return isAuthority(front.slice(2, slash === -1 ? undefined : slash)) && hasGoodEscapes(slash === -1 ? '' : front.slice(slash));
};
