import {Transform} from 'node:stream';

/** Attributes that contain a link, by element (HTML 4 and 5). */
const linking: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  applet: ['codebase'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  command: ['icon'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
};

/** Elements whose content is never markup. */
const textual = new Set(['iframe', 'noembed', 'noframes', 'script', 'style', 'textarea', 'title', 'xmp']);

/** The limit of buffered text while searching for the end of a tag or comment. */
const maxTagLength = 64 << 10;

/** A name is tried at its beginning alone: otherwise a long one would be read again from each of its characters. */
const attribute = /(?<![^\s"'<>/=])([^\s"'<>/=]+)(\s*=\s*)("[^"]*"|'[^']*'|[^\s"'=<>`]+)/g;

const plain = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&#34;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&#34;');

/** A start tag with its links rewritten. */
const rewritten = (tag: string, name: string, rewrite: (link: string) => string): string => {
  const links = Object.hasOwn(linking, name) ? linking[name]! : undefined;
  if (!links) return tag;
  const start = name.length + 1;
  return (
    tag.slice(0, start) +
    tag.slice(start).replaceAll(attribute, (whole, key: string, equals: string, value: string) => {
      if (!links.includes(key.toLowerCase())) return whole;
      const quoted = /^["']/.test(value);
      const link = plain(quoted ? value.slice(1, -1) : value);
      const changed = rewrite(link);
      return changed === link ? whole : `${key}${equals}"${escaped(changed)}"`;
    })
  );
};

/** The end of a start tag: after the first unquoted `>`; -1 if it is incomplete or too long. */
const endOfTag = (text: string, from: number): number => {
  let quote = '';
  const last = Math.min(text.length, from + maxTagLength);
  for (let at = from; at < last; at++) {
    const character = text[at]!;
    if (quote) quote = character === quote ? '' : quote;
    else if (character === '>') return at + 1;
    else if ((character === '"' || character === "'") && /=\s*$/.test(text.slice(Math.max(from, at - 20), at))) quote = character;
  }
  return -1;
};

const endOfComment = (text: string, from: number): number => {
  const end = text.indexOf('-->', from + 4);
  return end < 0 ? -1 : end + 3;
};

/** Rewrites the links of a streamed HTML page, and nothing else. Bytes other than ASCII are unchanged. */
export const htmlLinks = (rewrite: (link: string) => string): Transform => {
  let pending = '';
  let inside = ''; // The textual element whose end tag is searched for.

  /** Processes the text up to the last complete token. */
  const step = (isLast: boolean): string => {
    let out = '';
    let at = 0;
    const wait = () => !isLast && pending.length - at < maxTagLength;
    while (at < pending.length) {
      if (inside) {
        const end = new RegExp(`</${inside}(?=[\\s/>])`, 'i').exec(pending.slice(at));
        if (!end) {
          const safe = isLast ? pending.length : Math.max(at, pending.length - inside.length - 3);
          out += pending.slice(at, safe);
          at = safe;
          break;
        }
        out += pending.slice(at, at + end.index);
        at += end.index;
        inside = '';
        continue;
      }
      const open = pending.indexOf('<', at);
      out += pending.slice(at, open < 0 ? pending.length : open);
      at = open < 0 ? pending.length : open;
      if (open < 0) break;
      if (pending.length - at < 4 && wait()) break;
      const end = pending.startsWith('<!--', at)
        ? endOfComment(pending, at)
        : /^<[a-z]/i.test(pending.slice(at, at + 2))
          ? endOfTag(pending, at)
          : at + 1;
      if (end < at + 1) {
        if (wait()) break;
        // Passed on as it is, as far as it was searched: searching again from the next character would take quadratic time.
        out += pending.slice(at, at + maxTagLength);
        at += maxTagLength;
        continue;
      }
      const tag = pending.slice(at, end);
      at = end;
      const name = /^<([a-z][^\s/>]*)/i.exec(tag)?.[1]?.toLowerCase();
      out += name ? rewritten(tag, name, rewrite) : tag;
      if (name && textual.has(name) && !tag.endsWith('/>')) inside = name;
    }
    pending = pending.slice(at);
    return out;
  };
  return new Transform({
    transform(chunk: Buffer, _, done) {
      pending += chunk.toString('latin1');
      done(null, Buffer.from(step(false), 'latin1'));
    },
    flush(done) {
      done(null, Buffer.from(step(true), 'latin1'));
    },
  });
};
