import type {Agent} from './agent.js';

/**
 * The agents of the nodes of a simulation, by name. Their number changes at the end: nodes have consecutive numbers.
 */
export class Fleet {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly #agents = new Map<string, Agent>();
  readonly #create: (index: number, isSuccessor: boolean) => Agent;
  /** How many there have been at most. */
  #most = 0;

  constructor(count: number, create: (index: number, isSuccessor: boolean) => Agent) {
    this.agents = this.#agents;
    this.#create = create;
    this.grow(count);
  }

  /** Adds agents up to a number. Returns the names of those that are new. */
  grow(count: number): readonly string[] {
    const added: string[] = [];
    for (let index = this.#agents.size; index < count; index++) {
      const agent = this.#create(index, index < this.#most);
      this.#agents.set(agent.machine.name, agent);
      added.push(agent.machine.name);
    }
    this.#most = Math.max(this.#most, count);
    return added;
  }

  /** Removes agents down to a number, the last first. Returns their names. */
  shrink(count: number): readonly string[] {
    const removed = [...this.#agents.keys()].slice(count).toReversed();
    for (const name of removed) this.#agents.delete(name);
    return removed;
  }
}
