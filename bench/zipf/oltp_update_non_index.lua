-- sysbench's oltp_update_non_index with rows drawn by a Zipf distribution, which sysbench 1.0.20 lacks: row k of a table comes up
-- with a probability in proportion to k^-0.8 (the exponent is that of sysbench 1.1's `zipfian` by default).
--
-- sysbench looks for scripts in the working directory first, so all that runs `sysbench oltp_update_non_index` in this directory
-- takes this one. The numbers are drawn by rejection-inversion: W. Hoermann and G. Derflinger, "Rejection-inversion to generate
-- variates from monotone discrete distributions", ACM TOMACS 6 (1996).

require("oltp_common")

local exponent = 0.8

local function density(x)
   return x ^ -exponent
end

local function integral(x)
   return (x ^ (1 - exponent) - 1) / (1 - exponent)
end

local function inverse(y)
   return (1 + y * (1 - exponent)) ^ (1 / (1 - exponent))
end

local from = integral(1.5) - 1
local near = 2 - inverse(integral(2.5) - density(2))

-- Replaces `--rand-type`.
sysbench.rand.default = function(first, last)
   local count = last - first + 1
   local to = integral(count + 0.5)
   while true do
      local y = to + sysbench.rand.uniform_double() * (from - to)
      local x = inverse(y)
      local rank = math.min(math.max(math.floor(x + 0.5), 1), count)
      if rank - x <= near or y >= integral(rank + 0.5) - density(rank) then
         return first + rank - 1
      end
   end
end

function prepare_statements()
   prepare_non_index_updates()
end

function event()
   execute_non_index_updates()
end
