import {recordTypes as type} from './codes.js';

/**
 * Where names stand in the data of a type: `name`, a number of bytes, `text` with its length before it, or the `rest`.
 */
type Part = 'name' | 'text' | 'rest' | number;

interface Layout {
  readonly parts: readonly Part[];
  /** Whether the names may be written with compression: those of RFC 1035 alone (RFC 3597, section 4). */
  readonly compressed: boolean;
}

const compressed = (...parts: readonly Part[]): Layout => ({parts, compressed: true});
const plain = (...parts: readonly Part[]): Layout => ({parts, compressed: false});

/** The types whose data have names that a sender may have compressed. All others are passed on as they are. */
export const layouts: ReadonlyMap<number, Layout> = new Map([
  [type.NS, compressed('name')],
  [type.MD, compressed('name')],
  [type.MF, compressed('name')],
  [type.CNAME, compressed('name')],
  [type.SOA, compressed('name', 'name', 20)],
  [type.MB, compressed('name')],
  [type.MG, compressed('name')],
  [type.MR, compressed('name')],
  [type.PTR, compressed('name')],
  [type.MINFO, compressed('name', 'name')],
  [type.MX, compressed(2, 'name')],
  [type.RP, plain('name', 'name')],
  [type.AFSDB, plain(2, 'name')],
  [type.RT, plain(2, 'name')],
  [type.SIG, plain(18, 'name', 'rest')],
  [type.PX, plain(2, 'name', 'name')],
  [type.NXT, plain('name', 'rest')],
  [type.SRV, plain(6, 'name')],
  [type.NAPTR, plain(4, 'text', 'text', 'text', 'name')],
  [type.KX, plain(2, 'name')],
  [type.DNAME, plain('name')],
  [type.RRSIG, plain(18, 'name', 'rest')],
  [type.NSEC, plain('name', 'rest')],
]);
