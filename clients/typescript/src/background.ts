/** How many jobs there are at most. */
const most = 4096;

/** What is left to do for calls that have returned: it gives back leases and takes requests out of queues. */
export class Background {
  readonly #jobs = new Set<Promise<unknown>>();

  /**
   * Does a job that ends by itself and does not fail. It is not done if there are too many: the lease then runs out by its
   * TTL, and the place in the queue by its wait. Returns whether it is done.
   */
  add(job: () => Promise<unknown>): boolean {
    if (this.#jobs.size >= most) return false;
    const running = job();
    this.#jobs.add(running);
    void running.finally(() => this.#jobs.delete(running));
    return true;
  }

  /** Waits until there are no jobs. */
  async idle(): Promise<void> {
    while (this.#jobs.size > 0) await Promise.all(this.#jobs);
  }
}
