import type {Random} from '#src/base/random.js';
import {internet, recordTypes} from '#src/dns/wire/codes.js';
import type {Question} from '#src/dns/wire/message.js';
import {lowerCase, nameOfLabels, nameText} from '#src/dns/wire/names.js';

/**
 * Finds loops: a question that nobody else asks is forwarded at the start. If it comes back as a query, then what is
 * forwarded arrives here again, for ever.
 */
export class LoopCheck {
  readonly question: Question;
  readonly #found: (message: string) => void;
  #isFound = false;

  /** `found` is called once, with what to tell people. */
  constructor(random: Random, found: (message: string) => void) {
    const label = () => BigInt(`0x${Buffer.from(random.bytes(8)).toString('hex')}`).toString();
    this.question = {name: nameOfLabels([label(), label()]), type: recordTypes.HINFO, class: internet};
    this.#found = found;
  }

  /** Looks at a query. Returns whether it is the question that was forwarded from here. */
  isOwn({name, type}: Question, client: {text(): string; readonly serverName: string}): boolean {
    if (type !== recordTypes.HINFO || lowerCase(name) !== this.question.name) return false;
    if (!this.#isFound) {
      this.#isFound = true;
      this.#found(
        `loop (${client.text()} -> ${client.serverName}) detected: the query "HINFO ${nameText(this.question.name)}" that was forwarded came back. A resolver that queries are forwarded to forwards them to this server`,
      );
    }
    return true;
  }
}
