# Warns of packages whose tests take longer than recorded: by a fifth and by five seconds, beyond what all of them
# together take longer, as on a slower machine. Both files have lines of go test: the recorded ones, and the new ones.
$1 != "ok" { next }
FNR == NR { recorded[$2] = $3 + 0; next }
{ now[$2] = $3 + 0 }
END {
  for (p in now) if (p in recorded) { before += recorded[p]; after += now[p] }
  if (!before) {
    print "no times are recorded yet: make times"
    exit
  }
  speed = after / before
  printf "the tests of the packages took %.0f s, %.2f times what is recorded in docs/results/times.txt\n", after, speed
  for (p in now) {
    if (!(p in recorded)) continue
    usual = recorded[p] * speed
    if (now[p] > usual * 1.2 && now[p] > usual + 5) {
      printf "warning: %s took %.1f s; recorded are %.1f s\n", p, now[p], recorded[p]
    }
  }
}
