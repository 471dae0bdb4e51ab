import type {Lister} from '#informers/lister.js';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import type {Node} from '#src/api/types.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import type {ActualWorld} from './attachment-state.js';

/** Writes into the status of nodes which volumes are attached to them. */
export class NodeReport {
  readonly #context: ControllerContext;
  readonly #actual: ActualWorld;
  readonly #nodes: Lister<Node>;

  constructor(context: ControllerContext, actual: ActualWorld) {
    this.#context = context;
    this.#actual = actual;
    this.#nodes = context.lister(kinds.nodes);
  }

  /** Writes the status of one node. Rejects if that fails; it is written again with the next report. */
  async write(name: string): Promise<void> {
    const {unreported} = this.#actual;
    if (!unreported.has(name)) return;
    const node = this.#nodes.get(name);
    unreported.delete(name);
    if (!node) return;
    const volumesAttached = this.#actual.reportedOn(name);
    try {
      await this.#context
        .writer(kinds.nodes)
        .patch(node, 'merge', {status: {volumesAttached: volumesAttached.length > 0 ? volumesAttached : null}}, {subresource: 'status'});
    } catch (error) {
      if (isNotFound(error)) return;
      unreported.add(name);
      throw error;
    }
  }

  /** Writes the status of all nodes that need it. Returns whether all succeeded. */
  async writeAll(): Promise<boolean> {
    const written = await Promise.all(
      [...this.#actual.unreported].map(async name => {
        try {
          await this.write(name);
          return true;
        } catch (error) {
          if (!this.#context.signal.aborted)
            this.#context.log.warn({node: name, err: error}, 'the attached volumes of a node could not be reported');
          return false;
        }
      }),
    );
    return written.every(Boolean);
  }
}
